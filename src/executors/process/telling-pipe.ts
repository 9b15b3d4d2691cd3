import { Socket } from "node:net";
import { withoutSignature } from "../../blob/policy.ts";

/** Writes JSON lines, without signatures of URLs, to an inherited pipe. What nobody reads any more is lost; that is told by stdin. */
export class TellingPipe<Message> {
  readonly #socket: Socket;

  constructor(descriptor: number) {
    this.#socket = new Socket({ fd: descriptor, readable: false, writable: true });
    this.#socket.on("error", () => undefined);
  }

  tell(message: Message): void {
    this.#socket.write(`${withoutSignature(JSON.stringify(message))}\n`);
  }

  /** Once everything told has been handed to the system. */
  flushed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.destroyed) resolve();
      else {
        this.#socket.once("close", resolve);
        this.#socket.end(() => resolve());
      }
    });
  }
}
