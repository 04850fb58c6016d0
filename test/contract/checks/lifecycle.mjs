import assert from "node:assert/strict";
import { assistant, data, eventually, last, refused, say, texts } from "../world.mjs";

export const lifecycle = [
  {
    n: 53, title: "reject: a second run is a 409",
    async run(world) {
      const id = await world.thread();
      const run = await world.hanging(id);
      const error = await refused(world.parts(id, say("second", { multitaskStrategy: "reject" })), 409);
      assert.match(error.message, /already has an active run/);
      assert.match(error.message, new RegExp(run.run_id));
      await world.runs.cancel(id, run.run_id, true);
    },
  },
  {
    n: 54, title: "interrupt: the old run is interrupted, the new one succeeds",
    async run(world) {
      const id = await world.thread();
      const old = await world.hanging(id);
      const values = await world.runs.wait(id, assistant, say("second", { multitaskStrategy: "interrupt" }));
      assert.equal((await world.runs.get(id, old.run_id)).status, "interrupted");
      assert.ok(texts(values).includes("[hang]"), "what was said stays");
      assert.match(last(texts(values)), /You said: second/);
    },
  },
  {
    n: 55, title: "rollback restores the messages from before the run",
    async run(world) {
      const id = await world.thread();
      const before = await world.runs.wait(id, assistant, say("first"));
      const old = await world.hanging(id);
      const values = await world.runs.wait(id, assistant, say("third", { multitaskStrategy: "rollback" }));
      assert.deepEqual(texts(values).slice(0, 3), [...texts(before), "third"]);
      assert.ok(["error", "interrupted"].includes((await world.runs.get(id, old.run_id)).status));
    },
  },
  {
    n: 56, title: "enqueue: runs go in order",
    async run(world) {
      const id = await world.thread();
      const first = await world.runs.create(id, assistant, say("[slow]"));
      const queued = [];
      for (const text of ["second", "third"]) {
        queued.push(await world.runs.create(id, assistant, say(text, { multitaskStrategy: "enqueue" })));
      }
      for (const run of [first, ...queued]) await world.runs.join(id, run.run_id);
      const asked = texts((await world.threads.getState(id)).values).filter((_, i) => i % 2 === 0);
      assert.deepEqual(asked, ["[slow]", "second", "third"]);
    },
  },
  {
    n: 57, title: "cancel with wait: interrupted, the stream ends without an error",
    async run(world) {
      const id = await world.thread();
      let run;
      const reading = world.parts(id, say("[hang]", { streamMode: ["messages-tuple"], onRunCreated: (made) => { run = made; } }));
      await eventually(async () => assert.ok(run));
      await world.until(id, run.run_id, "running");
      await world.runs.cancel(id, run.run_id, true);
      assert.equal((await world.runs.get(id, run.run_id)).status, "interrupted");
      const parts = await reading;
      assert.equal(last(parts).event, "end");
      assert.deepEqual(data(parts, "error"), []);
    },
  },
  {
    n: 58, title: "cancelling a run that has ended is a 409",
    async run(world) {
      const id = await world.thread();
      const run = await world.runs.create(id, assistant, say("hello"));
      await world.runs.join(id, run.run_id);
      assert.match((await refused(world.runs.cancel(id, run.run_id), 409)).message, /is not cancellable/);
    },
  },
  {
    n: 59, title: "on_disconnect: cancel ends the run, continue does not",
    async run(world) {
      const dropped = async (onDisconnect) => {
        const id = await world.thread();
        const abort = new AbortController();
        let run;
        const reading = (async () => {
          for await (const part of world.runs.stream(id, assistant, say("[hang]", { onDisconnect, signal: abort.signal, streamMode: ["messages-tuple"] }))) {
            if (part.event === "metadata") run = part.data;
            if (part.event === "messages") abort.abort();
          }
        })();
        await reading.catch(() => {});
        return [id, run.run_id];
      };
      await world.until(...await dropped("cancel"), "interrupted");
      const [id, runId] = await dropped("continue");
      await new Promise((resolve) => setTimeout(resolve, 500)); // a cancel takes less
      assert.equal((await world.runs.get(id, runId)).status, "running");
      await world.runs.cancel(id, runId, true);
    },
  },
  {
    n: 60, title: "runs.list, get and delete",
    async run(world) {
      const id = await world.thread();
      const ids = [];
      for (const text of ["one", "two", "three"]) {
        const run = await world.runs.create(id, assistant, say(text, { metadata: { text } }));
        await world.runs.join(id, run.run_id);
        ids.unshift(run.run_id);
      }
      const list = async (options) => (await world.runs.list(id, options)).map((run) => run.run_id);
      assert.deepEqual(await list(), ids);
      assert.deepEqual(await list({ limit: 1, offset: 1 }), [ids[1]]);
      assert.deepEqual(await list({ status: "error" }), []);
      assert.equal((await world.runs.get(id, ids[0])).metadata.text, "three");
      await refused(world.runs.get(id, "nothing"), 404);
      await world.runs.delete(id, ids[0]);
      await refused(world.runs.get(id, ids[0]), 404);
      assert.deepEqual(await list(), ids.slice(1));
      assert.equal((await world.threads.getState(id)).values.messages.length, 6, "the transcript stays");
      const hanging = await world.hanging(id);
      await refused(world.runs.delete(id, hanging.run_id), 409);
      await world.runs.cancel(id, hanging.run_id, true);
    },
  },
  {
    n: 61, title: "runs.join gives the values as JSON",
    async run(world) {
      const id = await world.thread();
      const run = await world.runs.create(id, assistant, say("[slow]"));
      const values = await world.runs.join(id, run.run_id);
      assert.equal(values.messages.length, 2);
      assert.deepEqual(await world.runs.join(id, run.run_id), values);
    },
  },
  {
    n: 63, title: "a model that fails: the run is an error, the stream ends",
    async run(world) {
      const id = await world.thread();
      const parts = await world.parts(id, say("[fail]"));
      assert.equal(last(parts).event, "end");
      const told = data(parts, "error").length > 0 || last(data(parts, "values")).messages.some((m) => m.additional_kwargs.deerflow_error_fallback);
      assert.ok(told, "neither an error event nor a message says so");
      const [run] = await world.runs.list(id);
      assert.equal(run.status, "error");
      await world.runs.wait(id, assistant, say("and again"));
      assert.equal((await world.threads.get(id)).status, "idle");
    },
  },
  {
    n: 107, title: "POST /runs/cancel stops the runs of a list, or all of a thread",
    async run(world) {
      const id = await world.thread();
      const first = await world.hanging(id);
      await world.runs.create(id, assistant, say("queued", { multitaskStrategy: "enqueue" }));
      assert.equal((await world.post("/runs/cancel", { thread_id: id, status: "pending" })).status, 204);
      assert.equal((await world.post("/runs/cancel", { thread_id: id, run_ids: [first.run_id] })).status, 204);
      await eventually(async () => {
        const statuses = (await world.runs.list(id)).map((run) => run.status);
        assert.deepEqual(statuses, ["interrupted", "interrupted"]);
      });
      assert.equal((await world.post("/runs/cancel", { thread_id: id })).status, 422);
    },
  },
];
