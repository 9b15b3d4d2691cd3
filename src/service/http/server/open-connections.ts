import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { StalledAnswers, type StallLimits } from "./stalled-answers.ts";

/** When the server closes, answers have this long to end. */
const LAST_ANSWERS_MILLISECONDS = 5_000;

interface ConnectionLimits extends StallLimits {
  readonly most: number;
}

/**
 * The connections of a server. At their limit, the longest idle one is closed, so that there is room for the next. When the server closes,
 * it closes them all: Node's own `close` waits for connections that have carried no request yet.
 */
export class OpenConnections {
  /** The unfinished answers of each connection. */
  readonly #active = new Map<Socket, Set<ServerResponse>>();
  /** Connections on which no answer is due, the longest idle first. */
  readonly #idle = new Set<Socket>();
  readonly #stalled: StalledAnswers;
  #isClosing = false;

  constructor(server: Server, { most, ...limits }: ConnectionLimits) {
    this.#stalled = new StalledAnswers(limits);
    // Node closes further ones. If all were busy before, the next attempt gets a place.
    server.maxConnections = most;
    server.on("drop", () => this.#closeLongestIdle());
    server.on("connection", (socket) => {
      if (this.#isClosing) socket.destroy();
      if (this.#active.size + 1 >= most) this.#closeLongestIdle();
      this.#idle.add(socket);
      this.#active.set(socket, new Set());
      socket.once("close", () => this.#forget(socket));
    });
    // Runs before the handler, which may answer at once.
    server.prependListener("request", ({ socket }, response) => {
      this.#active.get(socket)?.add(response);
      this.#idle.delete(socket);
      this.#stalled.add(socket);
      response.once("prefinish", () => this.#stalled.wrote(socket));
      response.once("close", () => this.#removeAnswer(socket, response));
    });
  }

  /** Closes each idle connection at once, each other one after its answer, and all of them after five seconds. */
  close(): void {
    this.#isClosing = true;
    this.#stalled.stop();
    for (const [socket, active] of this.#active) {
      if (active.size === 0) socket.destroy();
    }
    setTimeout(() => {
      for (const socket of this.#active.keys()) socket.destroy();
    }, LAST_ANSWERS_MILLISECONDS).unref();
  }

  /** How many requests of a connection have no whole answer yet. */
  unanswered(socket: Socket): number {
    return this.#active.get(socket)?.size ?? 0;
  }

  /** The answer that a connection sends, or will send next. */
  current(socket: Socket): ServerResponse | undefined {
    const [first] = this.#active.get(socket) ?? [];
    return first;
  }

  /** Whether a whole request of a connection waits for its answer, or an answer has begun that the handler still writes. */
  owesAnswer(socket: Socket): boolean {
    const active = this.#active.get(socket) ?? new Set();
    return [...active].some(
      ({ req, headersSent, writableEnded }) => !writableEnded && (headersSent || req.complete),
    );
  }

  #closeLongestIdle(): void {
    const [longest] = this.#idle;
    if (longest === undefined) return;
    longest.destroy();
    this.#forget(longest);
  }

  #forget(socket: Socket): void {
    this.#active.delete(socket);
    this.#idle.delete(socket);
    this.#stalled.remove(socket);
  }

  #removeAnswer(socket: Socket, response: ServerResponse): void {
    const active = this.#active.get(socket);
    active?.delete(response);
    if (active?.size !== 0) return;
    this.#stalled.remove(socket);
    if (this.#isClosing) socket.destroySoon();
    else this.#idle.add(socket);
  }
}
