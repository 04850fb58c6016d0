import assert from "node:assert/strict";
import { assistant, checkpointOf, last, parentOf, refused, say, texts, unique } from "../world.mjs";

/** talked is a thread of two turns. */
async function talked(world) {
  const id = await world.thread();
  await world.runs.wait(id, assistant, say("one"));
  await world.runs.wait(id, assistant, say("two"));
  return id;
}

export const state = [
  {
    n: 17, title: "threads.getState of a fresh thread",
    async run(world) {
      const fresh = await world.threads.getState(await world.thread());
      assert.deepEqual(fresh.values, {});
      assert.deepEqual(fresh.next, []);
      assert.ok(fresh.checkpoint);
    },
  },
  {
    n: 18, title: "threads.updateState renames; search shows the title",
    async run(world) {
      const mark = unique();
      const id = await world.thread({ metadata: { mark } });
      const answer = await world.threads.updateState(id, { values: { title: "Fresh" } });
      assert.equal(answer.checkpoint.thread_id, id);
      assert.ok(answer.checkpoint.checkpoint_id);
      await world.runs.wait(id, assistant, say("hello"));
      await world.threads.updateState(id, { values: { title: "Renamed" } });
      const [found] = await world.threads.search({ metadata: { mark } });
      assert.equal(found.values.title, "Renamed");
      const now = await world.threads.getState(id);
      assert.equal(now.values.title, "Renamed");
      assert.equal(now.values.messages.length, 2);
      const values = await world.runs.wait(id, assistant, say("and now?"));
      assert.equal(values.title, "Renamed");
    },
  },
  {
    n: 19, title: "threads.updateState with unknown channels is a 422 that names them",
    async run(world) {
      const error = await refused(world.threads.updateState(await world.thread(), { values: { b: 1, a: 2, title: "x" } }), 422);
      assert.match(error.message, /Unknown thread-state field\(s\): a, b/);
    },
  },
  {
    n: 20, title: "threads.getHistory: newest first, parents chain",
    async run(world) {
      const id = await talked(world);
      const history = await world.threads.getHistory(id, { limit: 2 });
      assert.equal(history.length, 2);
      assert.equal(parentOf(history[0]), checkpointOf(history[1]));
      assert.ok(checkpointOf(history[0]).localeCompare(checkpointOf(history[1])) > 0);
      assert.deepEqual(texts(history[0].values).filter((_, i) => i % 2 === 0), ["one", "two"]);
      assert.equal("checkpoint" in history[0], world.platform);
    },
  },
  {
    n: 21, title: "threads.getHistory pages with before",
    async run(world) {
      const id = await talked(world);
      const all = (await world.threads.getHistory(id, { limit: 100 })).map(checkpointOf);
      assert.ok(all.length >= 2);
      const page = (await world.threads.getHistory(id, { limit: 1, before: { configurable: { checkpoint_id: all[0] } } })).map(checkpointOf);
      assert.deepEqual(page, [world.platform ? all[1] : all[0]], "DeerFlow's before is the first of the page");
    },
  },
  {
    n: 22, title: "threads.getState at a checkpoint has the values of then",
    async run(world) {
      const id = await talked(world);
      const history = await world.threads.getHistory(id, { limit: 100 });
      const first = await world.threads.getState(id, checkpointOf(last(history)));
      assert.deepEqual(texts(first.values).slice(0, 1), ["one"]);
      assert.equal(first.values.messages.length, 2);
      await refused(world.threads.getState(id, "nothing"), 404);
    },
  },
  {
    n: 23, title: "POST state/checkpoint has the values of then",
    async run(world) {
      const id = await talked(world);
      const history = await world.threads.getHistory(id, { limit: 100 });
      const checkpoint = { thread_id: id, checkpoint_ns: "", checkpoint_id: checkpointOf(last(history)) };
      assert.equal((await world.threads.getState(id, checkpoint)).values.messages.length, 2);
      const { checkpoint_id, ...head } = checkpoint;
      assert.equal((await world.threads.getState(id, head)).values.messages.length, 4);
    },
  },
  {
    n: 24, title: "threads.updateState while a run is active is a 409",
    async run(world) {
      const id = await world.thread();
      const run = await world.hanging(id);
      await refused(world.threads.updateState(id, { values: { title: "x" } }), 409);
      await world.runs.cancel(id, run.run_id, true);
      await world.threads.updateState(id, { values: { title: "x" } });
    },
  },
  {
    n: 104, title: "threads.updateState adds, replaces and removes messages",
    async run(world) {
      const id = await world.thread();
      const before = await world.runs.wait(id, assistant, say("one"));
      await world.threads.updateState(id, {
        values: {
          messages: [
            { type: "remove", id: before.messages[1].id },
            { type: "human", id: before.messages[0].id, content: "changed" },
            { type: "ai", content: "my own answer" },
          ],
        },
      });
      assert.deepEqual(texts((await world.threads.getState(id)).values), ["changed", "my own answer"]);
      const [newest] = await world.threads.getHistory(id, { limit: 1 });
      assert.equal(newest.metadata.source ?? "update", "update");
      const values = await world.runs.wait(id, assistant, say("two"));
      assert.deepEqual(texts(values).slice(0, 3), ["changed", "my own answer", "two"]);
    },
  },
];
