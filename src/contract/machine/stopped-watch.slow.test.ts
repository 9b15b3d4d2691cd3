import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isStopped } from "./process-stat.ts";
import { StoppedWatch } from "./stopped-watch.ts";

const linux = { skip: process.platform !== "linux" && "looks into /proc", timeout: 60_000 };

test(
  "reports a process that is stopped for the whole limit, and not one that continues earlier",
  linux,
  async (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const child = spawn("sleep", ["600"]);
    t.after(() => child.kill("SIGKILL"));
    const pid = child.pid!;
    const signal = async (name: "SIGSTOP" | "SIGCONT") => {
      process.kill(pid, name);
      while (isStopped(pid) !== (name === "SIGSTOP")) await nextTurn();
    };
    const reported: string[] = [];
    const onStopped = (why: string) => void reported.push(why);
    const watch = new StoppedWatch(() => [
      { pid: undefined, onStopped },
      { pid: process.pid, onStopped },
      { pid, onStopped },
    ]);
    t.after(() => watch.stop());
    for (const _ of [1, 2]) {
      await signal("SIGSTOP");
      t.mock.timers.tick(120_000);
      await signal("SIGCONT");
      t.mock.timers.tick(15_000);
    }
    assert.deepEqual(reported, []);
    await signal("SIGSTOP");
    t.mock.timers.tick(135_000);
    assert.deepEqual(reported, ["it was stopped (SIGSTOP) for 120 s"]);
  },
);
