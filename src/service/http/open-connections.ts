import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** After this long a connection is closed whatever is still going on on it. */
const LAST_ANSWERS_MILLISECONDS = 5_000;

/** Connections beyond the limit that may be open, for health checks. The oldest gives way to a new one. */
const SPARE = 16;
/** After this long without a byte one of them is closed: what asks nothing is no health check. */
const SPARE_IDLE_MILLISECONDS = 5_000;

/**
 * Bounds the connections of a server, and lets it end soon: Node waits for connections on which nothing was asked yet, and
 * for those whose client keeps them for later.
 */
export class OpenConnections {
  /** The answers under way on each. */
  readonly #active = new Map<Socket, Set<ServerResponse>>();
  /** Those beyond the limit, the oldest first. */
  readonly #spare = new Set<Socket>();
  #isClosing = false;

  /** @param most connections; @param onMore called for each that comes while there are as many. */
  constructor(server: Server, most: number, onMore: () => void) {
    server.on("connection", (socket) => {
      if (this.#isClosing) socket.destroy();
      // One that is beyond the limit takes no room within it.
      if (this.#active.size - this.#spare.size >= most) {
        onMore();
        this.#addSpare(socket);
      }
      this.#active.set(socket, new Set());
      socket.once("close", () => {
        this.#active.delete(socket);
        this.#spare.delete(socket);
      });
    });
    // Before the handlers of requests, so that none is overlooked.
    server.prependListener("request", ({ socket }, response) => {
      this.#active.get(socket)?.add(response);
      response.once("close", () => this.#ended(socket, response));
    });
  }

  /** Closes those on which nothing goes on, each other one after its answer, and all after five seconds. */
  end(): void {
    this.#isClosing = true;
    for (const [socket, active] of this.#active) {
      if (active.size === 0) socket.destroy();
    }
    setTimeout(() => {
      for (const socket of this.#active.keys()) socket.destroy();
    }, LAST_ANSWERS_MILLISECONDS).unref();
  }

  /** Whether a connection is one beyond the limit. */
  isSpare(socket: Socket): boolean {
    return this.#spare.has(socket);
  }

  /** Whether an answer has begun on a connection whose bytes have not all been handed to it. */
  isAnswering(socket: Socket): boolean {
    const active = this.#active.get(socket) ?? new Set();
    return [...active].some(({ headersSent, writableEnded }) => headersSent && !writableEnded);
  }

  #addSpare(socket: Socket): void {
    const [oldest] = this.#spare;
    if (oldest !== undefined && this.#spare.size >= SPARE) {
      oldest.destroy();
      this.#spare.delete(oldest);
      this.#active.delete(oldest);
    }
    socket.setTimeout(SPARE_IDLE_MILLISECONDS);
    this.#spare.add(socket);
  }

  #ended(socket: Socket, response: ServerResponse): void {
    const active = this.#active.get(socket);
    active?.delete(response);
    if (this.#isClosing && active?.size === 0) socket.destroySoon();
  }
}
