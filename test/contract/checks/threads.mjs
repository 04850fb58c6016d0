import assert from "node:assert/strict";
import { assistant, eventually, refused, say, unique } from "../world.mjs";

export const threads = [
  {
    n: 6, title: "threads.create gives a UUID, idle, with the metadata",
    async run({ threads }) {
      const made = await threads.create({ metadata: { project: "x" } });
      assert.match(made.thread_id, /^[0-9a-f-]{36}$/);
      assert.equal(made.status, "idle");
      assert.equal(made.metadata.project, "x");
    },
  },
  {
    n: 7, title: "threads.create with a known id gives the same thread",
    async run({ threads, platform }) {
      const threadId = `contract-${unique()}`;
      const first = await threads.create({ threadId, ifExists: "do_nothing" });
      const again = await threads.create({ threadId, ifExists: "do_nothing" });
      assert.equal(again.created_at, first.created_at);
      if (platform) await refused(threads.create({ threadId }), 409);
      else assert.equal((await threads.create({ threadId })).created_at, first.created_at);
    },
  },
  {
    n: 8, title: "threads.get of an unknown one is a 404, asked once",
    async run(world) {
      let asked = 0;
      const counting = (...args) => { asked++; return fetch(...args); };
      const client = world.clientFor(world.server, { callerOptions: { fetch: counting } });
      await refused(client.threads.get("nothing-here"), 404);
      assert.equal(asked, 1);
    },
  },
  {
    n: 9, title: "threads.update merges metadata; a pin leaves updated_at",
    async run(world) {
      const { threads } = world;
      const made = await threads.create({ metadata: { a: 1 } });
      const updated = await threads.update(made.thread_id, { metadata: { b: 2 } });
      assert.deepEqual([updated.metadata.a, updated.metadata.b], [1, 2]);
      const pinned = await threads.update(made.thread_id, { metadata: { deerflow_pinned: true } });
      assert.equal(pinned.updated_at, updated.updated_at);
      assert.equal(pinned.metadata.deerflow_pinned, true);
      const minimal = await world.fetch(`/threads/${made.thread_id}`, {
        method: "PATCH", body: '{"metadata":{"c":3}}', headers: { prefer: "return=minimal", "content-type": "application/json" },
      });
      assert.equal(minimal.status, 204);
    },
  },
  {
    n: 10, title: "threads.search by metadata is exact",
    async run({ threads }) {
      const mark = unique();
      const made = await threads.create({ metadata: { mark } });
      assert.deepEqual((await threads.search({ metadata: { mark } })).map((t) => t.thread_id), [made.thread_id]);
      assert.deepEqual(await threads.search({ metadata: { mark: mark + "x" } }), []);
    },
  },
  {
    n: 11, title: "threads.search pages: newest first, pinned ones on top for DeerFlow's page",
    async run({ threads, platform }) {
      const mark = unique();
      const ids = [];
      for (let i = 0; i < 4; i++) ids.unshift((await threads.create({ metadata: { mark } })).thread_id);
      const list = async (offset, limit) => (await threads.search({ metadata: { mark }, offset, limit })).map((t) => t.thread_id);
      assert.deepEqual(await list(0, 10), ids);
      assert.deepEqual([...await list(0, 2), ...await list(2, 2)], ids);
      await threads.update(ids[2], { metadata: { deerflow_pinned: true } });
      assert.deepEqual(await list(0, 10), platform ? ids : [ids[2], ids[0], ids[1], ids[3]]);
    },
  },
  {
    n: 12, title: "threads.search finds busy threads",
    async run(world) {
      const mark = unique();
      const id = await world.thread({ metadata: { mark } });
      const run = await world.hanging(id);
      const busy = async () => (await world.threads.search({ status: "busy", metadata: { mark } })).map((t) => t.thread_id);
      assert.deepEqual(await busy(), [id]);
      await world.runs.cancel(id, run.run_id, true);
      assert.deepEqual(await busy(), []);
    },
  },
  {
    n: 13, title: "threads.count gives a number",
    async run(world) {
      const mark = unique();
      for (let i = 0; i < 3; i++) await world.thread({ metadata: { mark } });
      const response = await world.post("/threads/count", { metadata: { mark } });
      assert.equal(await response.json(), 3);
    },
  },
  {
    n: 14, title: "threads.delete; a second one is a 404",
    async run(world) {
      const id = await world.thread();
      await world.runs.wait(id, assistant, say("hello"));
      await world.threads.delete(id);
      await refused(world.threads.get(id), 404);
      await refused(world.threads.delete(id), 404);
    },
  },
  {
    n: 16, title: "a thread id with other characters, or 65 of them, is a 422",
    async run(world) {
      await refused(world.threads.get("a".repeat(65)), 422);
      assert.equal((await world.fetch("/threads/a%2Fb")).status, 422);
      await refused(world.threads.create({ threadId: "a/b" }), 422);
    },
  },
  {
    n: 101, title: "threads.copy has the transcript of the other; both go on alone",
    async run(world) {
      const id = await world.thread({ metadata: { mark: "copied" } });
      await world.runs.wait(id, assistant, say("hello"));
      const copy = await world.threads.copy(id);
      assert.notEqual(copy.thread_id, id);
      assert.equal(copy.metadata.mark, "copied");
      assert.equal(copy.values.messages.length, 2);
      const values = await world.runs.wait(copy.thread_id, assistant, say("and you?"));
      assert.equal(values.messages.length, 4);
      assert.equal((await world.threads.getState(id)).values.messages.length, 2);
    },
  },
  {
    n: 102, title: "threads.prune deletes the threads it names",
    async run(world) {
      const id = await world.thread();
      const response = await world.post("/threads/prune", { thread_ids: [id, "unknown"], strategy: "delete" });
      assert.deepEqual(await response.json(), { pruned_count: 1 });
      await refused(world.threads.get(id), 404);
    },
  },
  {
    n: 103, title: "threads.joinStream shows run after run",
    async run(world) {
      if (!world.threads.joinStream) throw new Error("the SDK has no threads.joinStream");
      const id = await world.thread();
      const abort = new AbortController();
      const seen = [];
      const reading = (async () => {
        try {
          for await (const part of world.threads.joinStream(id, { signal: abort.signal })) {
            seen.push(part);
            if (seen.filter((p) => p.event === "run_done").length === 2) return;
          }
        } catch (error) {
          if (!abort.signal.aborted) throw error;
        }
      })();
      await new Promise((resolve) => setTimeout(resolve, 300)); // it shows what begins after it
      await world.runs.wait(id, assistant, say("one"));
      await world.runs.wait(id, assistant, say("two"));
      await eventually(async () => assert.equal(seen.filter((p) => p.event === "run_done").length, 2));
      abort.abort();
      await reading;
      assert.equal(seen.filter((p) => p.event === "metadata").length, 2);
      const ids = seen.filter((p) => p.id).map((p) => p.id);
      assert.equal(new Set(ids).size, ids.length);
    },
  },
];
