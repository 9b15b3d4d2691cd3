import type { ChildProcess } from "node:child_process";

const HELD_MILLISECONDS = 3_000;

/**
 * Has `child` close within 3 s of its exit, whatever else holds its pipes, such as a process that a wrapper of an interpreter has left
 * behind. Processes that end with it, as a host's workers do, have that time.
 */
export function closeHeldPipes(child: ChildProcess): void {
  child.once("exit", () => {
    const close = () => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    };
    // All that it wrote is in the pipes by now, and is read before an immediate.
    const timer = setTimeout(() => setImmediate(close), HELD_MILLISECONDS);
    child.once("close", () => clearTimeout(timer));
  });
}
