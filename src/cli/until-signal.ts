import { MucastError } from "../contract/errors.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs `body` with an AbortSignal that Ctrl-C, a termination or a closed terminal aborts with `canceled`. A second
 * one is left to the system, which ends the process at once.
 */
export async function untilSignal<T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const cancel = (name: NodeJS.Signals) => {
    unregister();
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
