import assert from "node:assert/strict";
import { assistant, eventually, last, refused, say, texts } from "../world.mjs";

export const stateless = [
  {
    n: 62, title: "runs.wait and runs.stream without a thread",
    async run(world) {
      const values = await world.runs.wait(null, assistant, say("hello"));
      assert.equal(values.messages.length, 2);
      const parts = await world.parts(null, say("hello", { streamMode: ["values", "messages-tuple"] }));
      assert.equal(last(parts).event, "end");
      const { thread_id: id } = parts[0].data;
      await eventually(() => refused(world.threads.get(id), 404)); // it goes with its run
      const kept = await world.parts(null, say("hello", { onCompletion: "keep" }));
      assert.equal((await world.threads.get(kept[0].data.thread_id)).status, "idle");
    },
  },
  {
    n: 108, title: "runs.create without a thread can be joined",
    async run(world) {
      const run = await world.runs.create(null, assistant, say("[slow]"));
      assert.equal((await world.runs.join(run.thread_id, run.run_id)).messages.length, 2);
      const response = await world.fetch(`/runs/${run.run_id}/stream`, { headers: { "last-event-id": "-1" } });
      assert.match(await response.text(), /event: end\ndata: null\n\n$/);
    },
  },
  {
    n: 109, title: "runs.createBatch starts them all",
    async run(world) {
      const runs = await world.runs.createBatch(["one", "two"].map((text) => ({ assistantId: assistant, ...say(text) })));
      const said = [];
      for (const run of runs) said.push(texts(await world.runs.join(run.thread_id, run.run_id))[0]);
      assert.deepEqual(said, ["one", "two"]);
    },
  },
  {
    n: 110, title: "config.configurable.thread_id chooses the thread of a stateless run",
    async run(world) {
      const id = await world.thread();
      const values = await world.runs.wait(null, assistant, say("hello", { config: { configurable: { thread_id: id } } }));
      assert.equal(values.messages.length, 2);
      assert.equal((await world.threads.getState(id)).values.messages.length, 2);
    },
  },
];
