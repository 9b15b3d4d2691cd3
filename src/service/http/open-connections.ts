import type { Server } from "node:http";
import type { Socket } from "node:net";

/** After this long a connection is closed whatever is still going on on it. */
const LAST_ANSWERS_MILLISECONDS = 5_000;

/**
 * Lets a server end soon: Node waits for connections on which nothing was asked yet, and for those whose client keeps
 * them for later.
 */
export class OpenConnections {
  /** How many requests are being answered on each. */
  readonly #active = new Map<Socket, number>();
  #isClosing = false;

  constructor(server: Server) {
    server.on("connection", (socket) => {
      if (this.#isClosing) socket.destroy();
      this.#active.set(socket, 0);
      socket.once("close", () => this.#active.delete(socket));
    });
    // Before the handlers of requests, so that none is overlooked.
    server.prependListener("request", ({ socket }, response) => {
      this.#count(socket, 1);
      response.once("close", () => this.#count(socket, -1));
    });
  }

  /** Closes those on which nothing goes on, each other one after its answer, and all after five seconds. */
  end(): void {
    this.#isClosing = true;
    for (const [socket, active] of this.#active) {
      if (active === 0) socket.destroy();
    }
    setTimeout(() => {
      for (const socket of this.#active.keys()) socket.destroy();
    }, LAST_ANSWERS_MILLISECONDS).unref();
  }

  #count(socket: Socket, change: 1 | -1): void {
    const active = this.#active.get(socket);
    if (active === undefined) return;
    this.#active.set(socket, active + change);
    if (this.#isClosing && active + change === 0) socket.destroySoon();
  }
}
