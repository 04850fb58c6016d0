import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

export const assistant = "lead_agent";

/** Skip says that a check does not apply to this SDK. */
export class Skip extends Error {}

/** World is what checks work with: a client and short words for frequent acts. */
export class World {
  constructor({ Client, sdk, server, mount }) {
    this.Client = Client;
    this.sdk = sdk;
    this.server = server;
    this.mount = mount;
    this.platform = mount === "";
    this.client = this.clientFor(server);
    this.threads = this.client.threads;
    this.runs = this.client.runs;
  }

  clientFor(server, options = {}) {
    return new this.Client({ apiUrl: server + this.mount, apiKey: "", ...options });
  }

  /** fetch asks the server without an SDK. */
  fetch(path, init) {
    return fetch(this.server + this.mount + path, init);
  }

  post(path, body, headers = {}) {
    return this.fetch(path, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json", ...headers } });
  }

  async thread(options) {
    const thread = await this.threads.create(options);
    return thread.thread_id;
  }

  /** asked is a thread that waits with questions. */
  async asked(text) {
    const id = await this.thread();
    await this.runs.wait(id, assistant, say(text));
    return id;
  }

  async parts(threadId, payload) {
    const all = [];
    for await (const part of this.runs.stream(threadId, assistant, payload)) all.push(part);
    return all.filter((part) => part.event); // 1.6.0 yields comments as parts without an event
  }

  /** started begins a run that hangs in its answer, and waits until it runs. */
  async hanging(threadId, payload = {}) {
    const run = await this.runs.create(threadId, assistant, { ...say("[hang]"), ...payload });
    await this.until(threadId, run.run_id, "running");
    return run;
  }

  async until(threadId, runId, status) {
    return eventually(async () => {
      const run = await this.runs.get(threadId, runId);
      assert.equal(run.status, status);
      return run;
    });
  }
}

/** say is the payload of a run with one message. */
export function say(text, more = {}) {
  return { input: { messages: [{ role: "user", content: text }] }, ...more };
}

/** eventually repeats a check until it holds. */
export async function eventually(check, patience = 20_000) {
  const end = Date.now() + patience;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** refused is the error with which a promise fails, which must have this status. */
export async function refused(promise, status) {
  let error;
  try {
    await promise;
  } catch (caught) {
    error = caught;
  }
  assert.ok(error, `expected HTTP ${status}, got an answer`);
  assert.equal(error.status, status, String(error.message));
  return error;
}

export const data = (parts, event) => parts.filter((part) => part.event === event).map((part) => part.data);
export const last = (list) => list[list.length - 1];
export const texts = (values) => values.messages.map((message) => message.content);
export const checkpointOf = (entry) => entry.checkpoint?.checkpoint_id ?? entry.checkpoint_id;
export const parentOf = (entry) => entry.parent_checkpoint?.checkpoint_id ?? entry.parent_checkpoint_id;
export const unique = () => randomUUID().slice(0, 8);
