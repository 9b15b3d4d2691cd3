import "../contract/machine/without-maglev.ts";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";

/** A child's end of the channel to the process that has started it as a `Child`, with which it ends from now on, even while it computes. */
export function openParentChannel<FromParent, ToParent extends object>(
  onMessage: (message: FromParent) => void,
) {
  // If the parent is gone, so are the readers of stdout and stderr.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  const here = import.meta.url;
  new Worker(new URL(`./watch-parent${extname(here)}`, here)).on("error", (error) => {
    throw error;
  });
  process.on("message", (message) => onMessage(message as FromParent));
  let sent = Promise.resolve();
  return {
    /** Settles once the system has accepted the message and all before it, or the parent is gone; never rejects. */
    send(message: ToParent): Promise<void> {
      sent = new Promise((resolve) => void process.send!(message, undefined, undefined, () => resolve()));
      return sent;
    },
    /** Ends this process once the system has accepted every message. */
    async exit(): Promise<never> {
      await sent;
      process.exit(0);
    },
  };
}
