// Runs the checks of the LangGraph API with one SDK against one server and
// prints a line for each: "ok 7 - title", "not ok 7 - title: why" or
// "skip 7 - title: why".
//
//   node contract.mjs <dir with node_modules> <sdk package> <server URL> <mount>
import { createRequire } from "node:module";
import { join } from "node:path";

import { assistants } from "./checks/assistants.mjs";
import { threads } from "./checks/threads.mjs";
import { state } from "./checks/state.mjs";
import { streaming } from "./checks/streaming.mjs";
import { messages } from "./checks/messages.mjs";
import { resume } from "./checks/resume.mjs";
import { interrupts } from "./checks/interrupts.mjs";
import { lifecycle } from "./checks/lifecycle.mjs";
import { stateless } from "./checks/stateless.mjs";
import { World, Skip } from "./world.mjs";

const [dir, sdk, server, mount] = process.argv.slice(2);
const { Client } = createRequire(join(dir, "package.json"))(sdk);
const world = new World({ Client, sdk, server, mount: mount === "/" ? "" : mount });

const checks = [assistants, threads, state, streaming, messages, resume, interrupts, lifecycle, stateless].flat();
const patience = 60_000;

async function run(check) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took more than ${patience / 1000} s`)), patience);
  });
  try {
    await Promise.race([check.run(world), late]);
    return `ok ${check.n} - ${check.title}`;
  } catch (error) {
    const why = String(error?.message ?? error).replace(/\s+/g, " ");
    return `${error instanceof Skip ? "skip" : "not ok"} ${check.n} - ${check.title}: ${why}`;
  } finally {
    clearTimeout(timer);
  }
}

// Each check has threads of its own, so several can go on at the same time.
const lines = new Array(checks.length);
let next = 0;
await Promise.all(Array.from({ length: 4 }, async () => {
  while (next < checks.length) {
    const i = next++;
    lines[i] = await run(checks[i]);
    console.log(lines[i]);
  }
}));
process.exit(0);
