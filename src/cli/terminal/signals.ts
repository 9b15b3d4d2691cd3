import { constants } from "node:os";
import { isatty } from "node:tty";
import { MucastError } from "../../contract/errors/errors.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The signal that has cancelled what this process runs. */
let cancelledBy: (typeof SIGNALS)[number] = "SIGINT";

/** A shell's exit code for the signal that cancelled this process: 130, 143 or 129. */
export function canceledExitCode(): number {
  return 128 + constants.signals[cancelledBy];
}

/** Runs `body` with an AbortSignal that Ctrl-C, a termination or a closed terminal aborts with `canceled`; see onEndSignal. */
export async function untilSignal<T>(body: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = onEndSignal((name) => {
    cancelledBy = name;
    controller.abort(new MucastError("canceled", `the job was cancelled by ${name}`));
  });
  try {
    return await body(controller.signal);
  } finally {
    stop();
  }
}

/** Terminals and timeout signal each process of a group, and npm and timeout forward the signal as well. */
const SAME_MILLISECONDS = 1_000;

/**
 * Calls `onEnd` when a signal asks this process to end. Another signal within a second is the same request, forwarded.
 * A later one has its usual effect: the system ends the process at once. A closed terminal (SIGHUP) counts only if the process
 * has a terminal. Without one it was started to outlive its terminal: nohup ignores SIGHUP, which Node undoes.
 * @returns a function that stops listening.
 */
export function onEndSignal(onEnd: (name: (typeof SIGNALS)[number]) => void): () => void {
  // Checked now, because the terminal may be closed later.
  const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor));
  let timer: NodeJS.Timeout | undefined;
  const receive = (name: (typeof SIGNALS)[number]) => {
    if (timer !== undefined || (name === "SIGHUP" && !hasTerminal)) return;
    timer = setTimeout(stop, SAME_MILLISECONDS).unref();
    onEnd(name);
  };
  const stop = () => {
    clearTimeout(timer);
    for (const name of SIGNALS) process.off(name, receive);
  };
  for (const name of SIGNALS) process.on(name, receive);
  return stop;
}
