import assert from "node:assert/strict";
import { assistant, data, last, refused, say, texts } from "../world.mjs";

export const interrupts = [
  {
    n: 47, title: "a question is an interrupt everywhere",
    async run(world) {
      const id = await world.thread();
      const parts = await world.parts(id, say("[ask]", { streamMode: ["values", "updates"] }));
      const [interrupt] = last(data(parts, "values")).__interrupt__;
      assert.ok(interrupt.id);
      assert.equal(interrupt.value.question, "Which one?");
      assert.ok(data(parts, "updates").some((update) => update.__interrupt__?.[0].id === interrupt.id));
      const thread = await world.threads.get(id);
      assert.equal(thread.status, "interrupted");
      assert.deepEqual(Object.values(thread.interrupts), [[interrupt]]);
      const state = await world.threads.getState(id);
      assert.ok(state.next.length > 0);
      assert.deepEqual(last(state.tasks).interrupts, [interrupt]);
      const [found] = await world.threads.search({ status: "interrupted", ids: [id] });
      assert.equal(found.thread_id, id);
    },
  },
  {
    n: 48, title: "command.resume goes on and completes",
    async run(world) {
      const id = await world.asked("[ask]");
      const parts = await world.parts(id, { command: { resume: "the first" }, streamMode: ["values"] });
      const values = last(data(parts, "values"));
      assert.equal(values.__interrupt__, undefined);
      assert.match(last(texts(values)), /Thank you/);
      const state = await world.threads.getState(id);
      assert.deepEqual(state.next, []);
      assert.equal((await world.threads.get(id)).status, "idle");
      await refused(world.runs.create(id, assistant, { command: { resume: "again" } }), 409);
    },
  },
  {
    n: 49, title: "a map of answers resumes two questions",
    async run(world) {
      const id = await world.asked("[ask two]");
      const { interrupts } = await world.threads.get(id);
      const [first, second] = Object.values(interrupts)[0];
      await refused(world.runs.create(id, assistant, { command: { resume: "to which?" } }), 422);
      const values = await world.runs.wait(id, assistant, { command: { resume: { [first.id]: "yes", [second.id]: "no" } } });
      assert.match(last(texts(values)), /Thank you/);
      assert.equal((await world.threads.get(id)).status, "idle");
    },
  },
  {
    n: 50, title: "command.update adds messages; command.goto names where runs begin",
    async run(world) {
      const id = await world.thread();
      const values = await world.runs.wait(id, assistant, {
        command: { update: { messages: [{ role: "user", content: "by command" }] }, goto: "model" },
      });
      assert.equal(texts(values)[0], "by command");
      assert.match((await refused(world.runs.create(id, assistant, { command: { goto: "tools" } }), 422)).message, /goto/);
      const asked = await world.asked("[ask]");
      const resumed = await world.runs.wait(asked, assistant, {
        command: { resume: "the first", update: [["messages", [{ role: "user", content: "and hurry" }]]] },
      });
      assert.ok(texts(resumed).includes("and hurry"));
    },
  },
  {
    n: 52, title: "wait shows an interrupt, and throws what a run failed with",
    async run(world) {
      const id = await world.thread();
      const values = await world.runs.wait(id, assistant, say("[ask]"));
      assert.equal(values.__interrupt__.length, 1);
      await world.runs.wait(id, assistant, say("a plain next message answers too"));
      assert.equal((await world.threads.get(id)).status, "idle");
    },
  },
];
