import { constants } from "node:os";
import { isatty } from "node:tty";
import { MucastError } from "../../contract/errors/errors.ts";

/** The signal that has cancelled what this process runs; undefined if none has. */
let cancelledBy: CancelSignal | undefined;

/** The signal that cancelled this process, and a shell's exit code for it: 130, 143 or 129; as for SIGINT if there was none. */
export function cancelSignal(): { readonly name: CancelSignal; readonly exitCode: number } {
  const name = cancelledBy ?? "SIGINT";
  return { name, exitCode: 128 + constants.signals[name] };
}

/**
 * Runs `body` with an AbortSignal that Ctrl-C, a termination or a closed terminal aborts with `canceled`. A second signal has its
 * default effect: it ends the process at once, and its children with it. A second termination counts only after a second, a
 * second Ctrl-C always.
 */
export async function untilSignal<T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let canceledAt = 0;
  const cancel = (name: CancelSignal) => {
    if (controller.signal.aborted) {
      if (name !== "SIGINT" && performance.now() - canceledAt < SAME_MILLISECONDS) return;
      // Sent again from here, because the system merges two that arrive during one turn of the main thread.
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

/** Terminals and timeout signal each process of a group, and npm and timeout forward the signal as well. */
const SAME_MILLISECONDS = 1_000;

/**
 * Calls `ended` when a signal asks this process to end. Another signal within a second is the same request, forwarded.
 * A later one has its usual effect: the system ends the process at once. A closed terminal (SIGHUP) counts only if the process
 * has a terminal. Without one it was started to outlive its terminal: nohup ignores SIGHUP, which Node undoes.
 * @returns a function that stops listening.
 */
export function onEndSignal(ended: (name: NodeJS.Signals) => void): () => void {
  // Checked now, because the terminal may be closed later.
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
