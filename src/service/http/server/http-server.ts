import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { Log } from "../../telemetry/log.ts";
import { problemAnswer } from "./problem-answer.ts";
import { PROBLEM_TYPE, SAFE_HEADERS } from "./send-problem.ts";

const HEADERS_MILLISECONDS = 15_000;
const HEADERS_CHECK_MILLISECONDS = 5_000;
/** Without a byte either way; longer than `Prefer: wait` and the comments of an event stream. */
const IDLE_MILLISECONDS = 120_000;
const KEPT_ALIVE_MILLISECONDS = 75_000;

/** What connections beyond the limit may ask for. */
const HEALTH = /^\/(healthz|readyz)(\?|$)/;
/** The log tells once in so long that there are too many connections. */
const QUIET_MILLISECONDS = 60_000;

export interface HttpServerOptions {
  /** How many may be open at the same time, but for a few that ask for the service's health. */
  readonly connections: number;
  readonly log: Log;
  /** Called for each connection that comes while there are as many. */
  readonly onMore: () => void;
  /** Milliseconds that the headers of a request may take; 15 s by default. */
  readonly headersMilliseconds?: number | undefined;
}

/** A server that waits for no caller too long, neither for a request nor to end, and bounds its connections. */
export class HttpServer {
  readonly server: Server;
  readonly #connections: OpenConnections;

  constructor(handler: RequestListener, options: HttpServerOptions) {
    const { connections, log, onMore, headersMilliseconds = HEADERS_MILLISECONDS } = options;
    this.server = createServer(
      {
        headersTimeout: headersMilliseconds,
        connectionsCheckingInterval: Math.min(HEADERS_CHECK_MILLISECONDS, headersMilliseconds),
        keepAliveTimeout: KEPT_ALIVE_MILLISECONDS,
        // An upload takes as long as it takes; small bodies have a limit of their own.
        requestTimeout: 0,
        // Looked at with the rest of it, and refused with a problem.
        requireHostHeader: false,
      },
      (request, response) => {
        if (this.#connections.isSpare(request.socket)) {
          response.shouldKeepAlive = false;
          if (!HEALTH.test(request.url ?? "")) {
            refuse(response, connections);
            return;
          }
        }
        handler(request, response);
      },
    );
    // Where one could not be accepted; without a listener it would end the process. An address that cannot be had is told by listen().
    this.server.once("listening", () =>
      this.server.on("error", (error) => log.warn({ err: error }, "the server met an error")),
    );
    this.server.setTimeout(IDLE_MILLISECONDS);
    // An upload that is refused is told before its bytes are sent; so the handler says when to go on.
    this.server.on("checkContinue", (request, response) => this.server.emit("request", request, response));
    // Refused with a problem, after the checks that every request passes.
    this.server.on("checkExpectation", (request, response) => this.server.emit("request", request, response));
    let told = Number.NEGATIVE_INFINITY;
    this.#connections = new OpenConnections(this.server, connections, () => {
      onMore();
      if (performance.now() - told < QUIET_MILLISECONDS) return;
      told = performance.now();
      log.warn({ connections }, "as many connections are open as may be; others are refused");
    });
  }

  /** Whether an answer has begun on a connection, and has not ended. */
  isAnswering(socket: Socket): boolean {
    return this.#connections.isAnswering(socket);
  }

  /** Lets it end soon once it is closed. */
  end(): void {
    this.#connections.end();
  }
}

function refuse(response: ServerResponse, connections: number): void {
  const message = `${connections} connections are open, and no more may be`;
  const { problem, headers } = problemAnswer(new MucastError("unavailable", message));
  response.writeHead(problem.status, {
    ...SAFE_HEADERS,
    "content-type": PROBLEM_TYPE,
    ...headers,
  });
  response.end(JSON.stringify(problem));
}

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
