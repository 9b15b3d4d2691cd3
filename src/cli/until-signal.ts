import { MucastError } from "../contract/errors/errors.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** npm, timeout and scripts/run.mjs hand a termination on that each process of the group has got already. */
const SAME_MILLISECONDS = 1_000;

/**
 * Runs `body` with an AbortSignal that Ctrl-C, a termination or a closed terminal aborts with `canceled`. A second
 * one ends the process at once, as it would end one that listens to none; what runs under it ends with it. A second
 * termination counts once a second has passed, a second Ctrl-C always.
 */
export async function untilSignal<T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let canceledAt = 0;
  const cancel = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) {
      if (name !== "SIGINT" && performance.now() - canceledAt < SAME_MILLISECONDS) return;
      // Heard here, because two that come during the same turn of the main thread would be one to the system.
      unregister();
      process.kill(process.pid, name);
      return;
    }
    canceledAt = performance.now();
    controller.abort(new MucastError("canceled", `the job was cancelled by ${name}`));
  };
  const unregister = () => {
    for (const name of SIGNALS) process.off(name, cancel);
  };
  for (const name of SIGNALS) process.on(name, cancel);
  try {
    return await body(controller.signal);
  } finally {
    unregister();
  }
}
