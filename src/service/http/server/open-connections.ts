import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { StalledAnswers, type StallLimits } from "./stalled-answers.ts";

/** When the server closes, answers have this long to end. */
const LAST_ANSWERS_MILLISECONDS = 5_000;

/** Connections beyond the limit that may be open for health checks. A new one replaces the oldest. */
const SPARE = 16;
/** The server closes a spare connection after this long without a byte: a health check sends its request at once. */
const SPARE_IDLE_MILLISECONDS = 5_000;

interface ConnectionLimits extends StallLimits {
  readonly most: number;
  readonly onOverLimit: () => void;
}

/**
 * Limits the connections of a server, and closes them when the server closes. Node's own `close` waits for connections
 * that have carried no request yet, and for those that a client keeps alive.
 */
export class OpenConnections {
  /** The unfinished answers of each connection. */
  readonly #active = new Map<Socket, Set<ServerResponse>>();
  /** Connections within the limit on which no answer is due, the longest idle first. */
  readonly #idle = new Set<Socket>();
  /** Connections beyond the limit, the oldest first. */
  readonly #spare = new Set<Socket>();
  readonly #stalled: StalledAnswers;
  #isClosing = false;

  /** @param onOverLimit called for each connection beyond the limit. */
  constructor(server: Server, { most, onOverLimit, ...limits }: ConnectionLimits) {
    this.#stalled = new StalledAnswers(limits);
    server.on("connection", (socket) => {
      if (this.#isClosing) socket.destroy();
      // A spare connection does not count towards the limit.
      if (this.#active.size - this.#spare.size >= most && !this.#makeRoom()) {
        onOverLimit();
        this.#addSpare(socket);
      } else {
        this.#idle.add(socket);
      }
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

  /** Whether a connection is beyond the limit. */
  isSpare(socket: Socket): boolean {
    return this.#spare.has(socket);
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

  #addSpare(socket: Socket): void {
    const [oldest] = this.#spare;
    if (oldest !== undefined && this.#spare.size >= SPARE) {
      oldest.destroy();
      this.#forget(oldest);
    }
    socket.setTimeout(SPARE_IDLE_MILLISECONDS);
    this.#spare.add(socket);
  }

  /**
   * Closes the connection that has been idle longest, else the one whose reader has stalled longest: a client that keeps many
   * must not lock the others out. @returns whether there was one.
   */
  #makeRoom(): boolean {
    const [longest] = this.#idle;
    if (longest === undefined) return this.#stalled.closeLongest();
    longest.destroy();
    this.#forget(longest);
    return true;
  }

  #forget(socket: Socket): void {
    this.#active.delete(socket);
    this.#idle.delete(socket);
    this.#spare.delete(socket);
    this.#stalled.remove(socket);
  }

  #removeAnswer(socket: Socket, response: ServerResponse): void {
    const active = this.#active.get(socket);
    active?.delete(response);
    if (active?.size !== 0) return;
    this.#stalled.remove(socket);
    if (this.#isClosing) socket.destroySoon();
    else if (!this.#spare.has(socket)) this.#idle.add(socket);
  }
}
