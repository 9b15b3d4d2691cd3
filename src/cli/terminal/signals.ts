import { constants } from "node:os";
import { isatty } from "node:tty";
import { MucastError } from "../../contract/errors/errors.ts";

/** The signal that has cancelled what this process runs; undefined if none has. */
let cancelledBy: CancelSignal | undefined;

/** The signal that cancelled this process, and the exit code that a shell gives for it: 130, 143 or 129; of SIGINT if there was none. */
export function cancelSignal(): { readonly name: CancelSignal; readonly exitCode: number } {
  const name = cancelledBy ?? "SIGINT";
  return { name, exitCode: 128 + constants.signals[name] };
}

/**
 * Runs `body` with an AbortSignal that Ctrl-C, a termination or a closed terminal aborts with `canceled`. A second
 * one ends the process at once, as it would end one that listens to none; what runs under it ends with it. A second
 * termination counts once a second has passed, a second Ctrl-C always.
 */
export async function untilSignal<T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let canceledAt = 0;
  const cancel = (name: CancelSignal) => {
    if (controller.signal.aborted) {
      if (name !== "SIGINT" && performance.now() - canceledAt < SAME_MILLISECONDS) return;
      // Sent again from here, because two that come during one turn of the main thread would be one to the system.
      unregister();
      process.kill(process.pid, name);
      return;
    }
    canceledAt = performance.now();
    cancelledBy = name;
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

/** Terminals, npm and timeout send a signal to each process of a group, and npm, timeout and scripts/run.mjs pass it on to others. */
const SAME_MILLISECONDS = 1_000;

/**
 * Calls `ended` when a signal asks this process to end. A signal within a second after that is the same request, passed on.
 * A later one has its usual effect: the system ends the process at once. A closed terminal (SIGHUP) counts where the process
 * has a terminal. Without one it was started to outlive it: nohup has SIGHUP ignored, which Node undoes.
 * @returns a function that stops listening.
 */
export function onEndSignal(ended: (name: NodeJS.Signals) => void): () => void {
  // Looked at now: later the terminal may be closed.
  const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  let isCalled = false;
  let timer: NodeJS.Timeout | undefined;
  const receive = (name: NodeJS.Signals) => {
    if (isCalled || (name === "SIGHUP" && !hasTerminal)) return;
    isCalled = true;
    timer = setTimeout(stop, SAME_MILLISECONDS).unref();
    ended(name);
  };
  const stop = () => {
    clearTimeout(timer);
    for (const name of SIGNALS) process.off(name, receive);
  };
  for (const name of SIGNALS) process.on(name, receive);
  return stop;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
type CancelSignal = (typeof SIGNALS)[number];
