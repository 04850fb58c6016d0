import assert from "node:assert/strict";
import { data, last, say } from "../world.mjs";

const modes = { streamMode: ["messages-tuple", "values"] };

/** gathered joins the chunks of each id as clients do. */
function gathered(parts) {
  const chunks = new Map();
  const complete = [];
  for (const [message] of data(parts, "messages")) {
    if (message.type !== "AIMessageChunk") {
      complete.push(message.id);
      continue;
    }
    const known = chunks.get(message.id) ?? { content: "", args: [] };
    known.content += message.content;
    for (const piece of message.tool_call_chunks) known.args[piece.index] = (known.args[piece.index] ?? "") + piece.args;
    chunks.set(message.id, known);
  }
  return { chunks, complete };
}

export const messages = [
  {
    n: 29, title: "chunks of an id add up to the message in values",
    async run(world) {
      const parts = await world.parts(await world.thread(), say("[tools]", modes));
      const final = last(data(parts, "values")).messages.filter((message) => message.type === "ai");
      const { chunks } = gathered(parts);
      assert.equal(final.length, 2);
      for (const message of final) {
        assert.equal(chunks.get(message.id)?.content, message.content);
        message.tool_calls.forEach((call, i) => assert.deepEqual(JSON.parse(chunks.get(message.id).args[i]), call.args));
      }
    },
  },
  {
    n: 30, title: "no id comes both in chunks and as a whole message",
    async run(world) {
      const { chunks, complete } = gathered(await world.parts(await world.thread(), say("[tools]", modes)));
      assert.equal(new Set(complete).size, complete.length);
      for (const id of complete) assert.ok(!chunks.has(id), id);
    },
  },
  {
    n: 31, title: "every message has an id, tool messages name their call",
    async run(world) {
      const parts = await world.parts(await world.thread(), say("[tools]", modes));
      for (const [message, metadata] of data(parts, "messages")) {
        assert.ok(message.id);
        assert.equal(typeof metadata, "object");
      }
      const final = last(data(parts, "values")).messages;
      const calls = final.flatMap((message) => (message.tool_calls ?? []).map((call) => call.id));
      const results = final.filter((message) => message.type === "tool");
      assert.equal(results.length, 2);
      for (const result of results) assert.ok(calls.includes(result.tool_call_id), result.tool_call_id);
      for (const message of final) assert.ok(message.id);
    },
  },
  {
    n: 106, title: "the old messages mode announces each message once",
    async run(world) {
      const parts = await world.parts(await world.thread(), say("hello", { streamMode: ["messages"] }));
      const announced = data(parts, "messages/metadata").flatMap((d) => Object.keys(d));
      const complete = data(parts, "messages/complete").flat().map((message) => message.id);
      assert.equal(new Set(announced).size, announced.length);
      assert.deepEqual(announced, complete);
      assert.ok(complete.length > 0);
    },
  },
];
