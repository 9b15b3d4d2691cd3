import { MucastError } from "../contract/errors.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs `body` with an AbortSignal that Ctrl-C, a termination or a closed terminal aborts with `canceled`. A second
 * one ends the process at once, as it would end one that listens to none; what runs under it ends with it.
 */
export async function untilSignal<T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const cancel = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) {
      // Heard here, because two that come during the same turn of the main thread would be one to the system.
      unregister();
      process.kill(process.pid, name);
      return;
    }
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
