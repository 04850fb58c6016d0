import assert from "node:assert/strict";
import { assistant, data, last, refused, say, texts } from "../world.mjs";

export const streaming = [
  {
    n: 25, title: "a stream begins with metadata; onRunCreated comes first, with the same ids",
    async run(world) {
      const id = await world.thread();
      const order = [];
      const stream = world.runs.stream(id, assistant, say("hello", { onRunCreated: (run) => order.push(run) }));
      for await (const part of stream) order.push(part);
      assert.equal(order[0].thread_id, id);
      assert.equal(order[1].event, "metadata");
      assert.equal(order[1].data.run_id, order[0].run_id);
      assert.equal(order[1].data.thread_id ?? id, id);
    },
  },
  {
    n: 26, title: "a stream ends with end",
    async run(world) {
      const parts = await world.parts(await world.thread(), say("hello"));
      assert.equal(last(parts).event, "end");
      assert.equal(last(parts).data, null);
    },
  },
  {
    n: 27, title: "the headers of a stream",
    async run(world) {
      const id = await world.thread();
      const response = await world.post(`/threads/${id}/runs/stream`, { assistant_id: assistant, ...say("hello") });
      const text = await response.text();
      const runId = JSON.parse(/event: metadata\ndata: (.*)\n/.exec(text)[1]).run_id;
      assert.equal(response.headers.get("content-type"), "text/event-stream");
      assert.equal(response.headers.get("cache-control"), "no-cache, no-transform");
      assert.equal(response.headers.get("x-accel-buffering"), "no");
      assert.equal(response.headers.get("content-location"), `/threads/${id}/runs/${runId}`);
      assert.equal(response.headers.get("location"), `/threads/${id}/runs/${runId}/stream`);
      assert.ok(text.endsWith("event: end\ndata: null\n\n"), text.slice(-60));
    },
  },
  {
    n: 28, title: "without stream_mode there are values alone",
    async run(world) {
      const events = new Set((await world.parts(await world.thread(), say("hello"))).map((part) => part.event));
      assert.deepEqual([...events], ["metadata", "values", "end"]);
    },
  },
  {
    n: 32, title: "updates are keyed by node",
    async run(world) {
      const parts = await world.parts(await world.thread(), say("[tools]", { streamMode: ["updates"] }));
      const nodes = data(parts, "updates").flatMap((update) => Object.keys(update));
      assert.ok(nodes.includes("model") && nodes.includes("tools"), nodes.join());
      for (const update of data(parts, "updates")) {
        assert.equal(typeof update, "object");
        if (update.model?.messages) assert.equal(update.model.messages[0].type, "ai");
      }
    },
  },
  {
    n: 34, title: "values only grow",
    async run(world) {
      let before = [];
      for (const values of data(await world.parts(await world.thread(), say("[tools]")), "values")) {
        const ids = values.messages.map((message) => message.id);
        assert.deepEqual(ids.slice(0, before.length), before);
        before = ids;
      }
      assert.equal(before.length, 5);
    },
  },
  {
    n: 35, title: "ids of the client's messages are kept, missing ones given",
    async run(world) {
      const id = await world.thread();
      const values = await world.runs.wait(id, assistant, {
        input: { messages: [{ type: "human", id: "mine", content: "hello" }, { role: "user", content: "there" }] },
      });
      assert.equal(values.messages[0].id, "mine");
      assert.match(values.messages[1].id, /^[0-9a-f-]{36}$/);
      assert.deepEqual(texts(values).slice(0, 2), ["hello", "there"]);
    },
  },
  {
    n: 36, title: "an invalid message is a 400 that names its place",
    async run(world) {
      const id = await world.thread();
      const bad = { input: { messages: [{ role: "user", content: "x" }, { role: "wizard", content: "y" }] } };
      assert.match((await refused(world.runs.create(id, assistant, bad), 400)).message, /input\.messages\[1\]/);
    },
  },
  {
    n: 37, title: "an unknown model is a 400",
    async run(world) {
      const error = await refused(world.runs.create(await world.thread(), assistant, say("x", { context: { model_name: "gpt-99" } })), 400);
      assert.match(error.message, /gpt-99/);
    },
  },
  {
    n: 38, title: "an unknown stream mode is a 422 that names the field",
    async run(world) {
      const error = await refused(world.runs.create(await world.thread(), assistant, say("x", { streamMode: ["nonsense"] })), 422);
      assert.match(error.message, /stream_mode/);
    },
  },
  {
    n: 39, title: "unknown keys, durability and stream_resumable are taken",
    async run(world) {
      const values = await world.runs.wait(await world.thread(), assistant, say("hello", {
        durability: "async", streamResumable: true, checkpointDuring: true, config: { recursion_limit: 50, tags: ["a"] },
      }));
      assert.equal(values.messages.length, 2);
      const response = await world.post(`/threads/${await world.thread()}/runs/wait`, {
        ...say("hello"), brand_new: { a: 1 }, if_not_exists: "reject", stream_resumable: true,
      });
      assert.equal(response.status, 200);
    },
  },
  {
    n: 105, title: "the modes tasks, checkpoints and debug have their frames",
    async run(world) {
      const parts = await world.parts(await world.thread(), say("[tools]", { streamMode: ["tasks", "checkpoints", "debug"] }));
      const events = new Set(parts.map((part) => part.event));
      for (const event of ["tasks", "checkpoints", "debug"]) assert.ok(events.has(event), event);
      assert.equal(last(data(parts, "checkpoints")).values.messages.length, 5);
      for (const frame of data(parts, "debug")) assert.ok(["checkpoint", "task", "task_result"].includes(frame.type), frame.type);
      for (const task of data(parts, "tasks")) assert.ok(task.id && task.name);
    },
  },
];
