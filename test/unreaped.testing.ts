import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

/** A process whose parent never waits for it, like the first process of many containers. */
export interface Unreaped {
  readonly pid: number;
  /** Lines of its stdout. */
  readonly lines: AsyncIterator<string>;
  readonly stdin: NonNullable<ChildProcess["stdin"]>;
  /** Kills it; it stays in the list of processes as a zombie until the test ends. */
  kill(): Promise<void>;
}

/** Runs a command under a parent that starts it and never waits for it. The parent ends with the test. */
export async function startUnreaped(t: TestContext, command: readonly string[]): Promise<Unreaped> {
  // A shell gives a background command no stdin unless one is named.
  const script = 'exec 3<&0; "$@" <&3 & echo $!; exec sleep 600';
  const parent = spawn("sh", ["-c", script, "sh", ...command], { stdio: ["pipe", "pipe", "inherit"] });
  t.after(async () => {
    parent.kill("SIGKILL");
    await once(parent, "close");
  });
  const lines = createInterface(parent.stdout)[Symbol.asyncIterator]();
  const pid = Number((await lines.next()).value);
  t.after(() => process.kill(pid, "SIGKILL"));
  return {
    pid,
    lines,
    stdin: parent.stdin,
    kill: async () => {
      process.kill(pid, "SIGKILL");
      while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"))) await pause(5);
    },
  };
}
