import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const MODULE = fileURLToPath(new URL("./parent.mjs", import.meta.url));

/** Prints its id, and whether the end of its parent or a SIGHUP comes first. */
const WATCHER = `
  import { whenParentEnds } from ${JSON.stringify(MODULE)};
  const say = (word) => { console.log(word); process.exit(0); };
  whenParentEnds(() => say("parent ended"));
  process.on("SIGHUP", () => say("SIGHUP"));
  setInterval(() => undefined, 1000);
  console.log(process.pid);`;

test("a signal that also ends the parent comes before the parent's end, even on a machine too busy to run the process in between", async () => {
  const shell = spawn("sh", ["-c", '"$0" --input-type=module -e "$1" & wait', process.execPath, WATCHER], {
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface(shell.stdout)[Symbol.asyncIterator]();
  const watcher = Number((await lines.next()).value);
  process.kill(watcher, "SIGSTOP");
  const ended = once(shell, "exit");
  process.kill(-shell.pid!, "SIGHUP");
  await ended;
  // Its next check of the parent is due by then. If the wait were too short, the signal would come first anyway.
  await setTimeout(1_000);
  process.kill(watcher, "SIGCONT");
  assert.equal((await lines.next()).value, "SIGHUP");
});
