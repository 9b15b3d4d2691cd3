import type { ChildProcess } from "node:child_process";

const HELD_MILLISECONDS = 3_000;

/**
 * Makes `child` close within 3 s of its exit, even if another process holds its pipes, such as one that an interpreter's wrapper left
 * behind. Processes that end with it, such as a host's workers, have that time.
 */
export function closeHeldPipes(child: ChildProcess): void {
  child.once("exit", () => {
    const close = () => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    };
    // All that it wrote is in the pipes by now, and is read before the next immediate.
    const timer = setTimeout(() => setImmediate(close), HELD_MILLISECONDS);
    child.once("close", () => clearTimeout(timer));
  });
}
