import assert from "node:assert/strict";
import { flaky } from "../proxy.mjs";
import { assistant, last, say, Skip } from "../world.mjs";

const modes = { streamMode: ["values", "messages-tuple", "updates"] };
const named = (parts) => parts.filter((part) => part.event).map((part) => [part.id, part.event]);

async function joined(world, threadId, runId, options) {
  const parts = [];
  for await (const part of world.runs.joinStream(threadId, runId, options)) parts.push(part);
  return parts.filter((part) => part.event);
}

async function talked(world) {
  const id = await world.thread();
  const parts = await world.parts(id, say("[tools]", modes));
  return { id, parts, runId: parts[0].data.run_id };
}

/** survived streams a run through a proxy that breaks the stream. */
async function survived(world, how) {
  const id = await world.thread();
  const proxy = await flaky(world.server, { how, after: 9 });
  try {
    const parts = [];
    for await (const part of world.clientFor(proxy.url).runs.stream(id, assistant, say("[slow]", modes))) {
      if (part.event) parts.push(part);
    }
    assert.ok(proxy.wasBroken(), "the stream was not broken");
    const ids = parts.map((part) => part.id).filter((id, i, all) => id && id !== all[i - 1]);
    assert.equal(new Set(ids).size, ids.length, "an event came twice");
    assert.equal(last(parts).event, "end");
    const whole = await joined(world, id, parts[0].data.run_id, { lastEventId: "-1", ...modes });
    assert.deepEqual(named(parts).slice(0, -1), named(whole).slice(0, -1), "events are missing");
  } finally {
    proxy.close();
  }
}

export const resume = [
  {
    n: 40, title: "joinStream after the k-th event gives exactly the rest",
    async run(world) {
      const { id, parts, runId } = await talked(world);
      for (const k of [0, 3, parts.length - 3]) {
        const rest = await joined(world, id, runId, { lastEventId: parts[k].id, ...modes });
        assert.deepEqual(named(rest), named(parts).slice(k + 1), `after event ${k}`);
      }
    },
  },
  {
    n: 41, title: "joinStream from -1 gives all",
    async run(world) {
      const { id, parts, runId } = await talked(world);
      assert.deepEqual(named(await joined(world, id, runId, { lastEventId: "-1", ...modes })), named(parts));
      const byRun = await joined(world, null, runId, { lastEventId: "-1", ...modes }).catch((error) => error);
      if (Array.isArray(byRun)) assert.deepEqual(named(byRun), named(parts));
      else assert.equal(world.sdk, "sdk-1.6.0", String(byRun)); // it asks for /threads/null
    },
  },
  {
    n: 42, title: "joining a finished run ends",
    async run(world) {
      const { id, runId } = await talked(world);
      assert.equal(last(await joined(world, id, runId)).event, "end");
    },
  },
  { n: 43, title: "a stream survives a TCP reset", run: (world) => survived(world, "reset") },
  {
    n: 44, title: "a stream survives an early end",
    async run(world) {
      if (world.sdk === "sdk-1.6.0") throw new Skip("1.6.0 takes an early end of the answer for the end of the run");
      await survived(world, "eof");
    },
  },
  {
    n: 46, title: "a silent run has a heartbeat within 15 s",
    async run(world) {
      const id = await world.thread();
      const run = await world.hanging(id);
      const abort = new AbortController();
      const response = await world.fetch(`/threads/${id}/runs/${run.run_id}/stream`, { signal: abort.signal });
      const began = Date.now();
      let text = "";
      for await (const chunk of response.body) {
        text += Buffer.from(chunk).toString();
        if (text.includes("\n: heartbeat\n\n")) break;
      }
      assert.ok(Date.now() - began < 15_000);
      abort.abort();
      await world.runs.cancel(id, run.run_id, true);
    },
  },
];
