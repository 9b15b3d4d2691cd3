import {
  createServer,
  IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../../telemetry/log.ts";
import { OpenConnections } from "./open-connections.ts";
import { endWithStatus } from "./problem-answer.ts";
import type { StallLimits } from "./stalled-answers.ts";

const HEADERS_MILLISECONDS = 15_000;
const HEADERS_CHECK_MILLISECONDS = 5_000;
/**
 * Time limit of a connection without a byte in either direction. Longer than `Prefer: wait` and than the gap between two comments of
 * an event stream.
 */
const IDLE_MILLISECONDS = 120_000;
const KEPT_ALIVE_MILLISECONDS = 75_000;

/** Between two log lines about too many connections. */
const WARNING_MILLISECONDS = 60_000;

/**
 * Requests of one connection without a whole answer: one, and the next, because a client may have the last byte of an answer
 * before the handler knows. A client that pipelines more of them gets one answer.
 */
const MAX_UNANSWERED = 2;

/** Listeners of one event of an answer: limits, telemetry, timers, a download's file and Fastify itself wait for its end. */
const MAX_LISTENERS = 32;

/** Bytes of a body that Node reads before the service asks for them, and one more read of the socket. */
const UNASKED_BODY_BYTES = 8 * 2 ** 10;

/**
 * A body with more pieces than this must have on average at least this many bytes per piece: each piece costs as much as kilobytes
 * do.
 */
const MAX_TINY_PIECES = 4_096;
const MIN_BYTES_A_PIECE = 8;

/** A request that refuses a body in tiny pieces. */
class GuardedMessage extends IncomingMessage {
  #pieces = 0;
  #bytes = 0;
  #isRefused = false;

  override push(piece: Buffer | null): boolean {
    // Node still parses the rest of what it has read from the socket.
    if (this.#isRefused) return false;
    if (piece !== null) this.#pieces += 1;
    this.#bytes += piece?.length ?? 0;
    if (this.#pieces > MAX_TINY_PIECES && this.#bytes < MIN_BYTES_A_PIECE * this.#pieces) {
      this.#isRefused = true;
      this.emit(TINY_PIECES);
      return false;
    }
    return super.push(piece);
  }
}

/** The event of a request whose body comes in tiny pieces. */
const TINY_PIECES = "tinyPieces";

interface HttpServerOptions extends StallLimits {
  /** Maximum number of connections at the same time. */
  readonly connections: number;
  readonly log: Log;
  /** Called for each connection beyond the limit, which Node closes. */
  readonly onOverLimit: () => void;
  /** Milliseconds that the headers of a request may take; 15 s by default. */
  readonly headersMilliseconds?: number | undefined;
}

/** A server with a limit of connections and with a timeout for every phase of one, including its close. */
export class HttpServer {
  readonly server: Server;
  readonly #connections: OpenConnections;
  /** The answer to the newest request of each connection. */
  readonly #last = new WeakMap<Socket, ServerResponse>();

  constructor(handler: RequestListener, options: HttpServerOptions) {
    const { connections, log, onOverLimit, headersMilliseconds = HEADERS_MILLISECONDS, ...limits } = options;
    this.server = createServer(
      {
        headersTimeout: headersMilliseconds,
        connectionsCheckingInterval: Math.min(HEADERS_CHECK_MILLISECONDS, headersMilliseconds),
        keepAliveTimeout: KEPT_ALIVE_MILLISECONDS,
        // An upload may take any time; `limitBodyTime` limits small bodies.
        requestTimeout: 0,
        // The guard checks Host and refuses with a problem.
        requireHostHeader: false,
        highWaterMark: UNASKED_BODY_BYTES,
        IncomingMessage: this.#messageClass(),
        shouldUpgradeCallback: () => false,
      },
      (request, response) => this.#inTurn(request, response, () => handler(request, response)),
    );
    // A connection that cannot be accepted emits an error, which would end the process without a listener. Before the server listens,
    // listen() rejects with the error.
    this.server.once("listening", () =>
      this.server.on("error", (error) => log.warn({ err: error }, "the server failed")),
    );
    this.server.setTimeout(IDLE_MILLISECONDS);
    // The handler sends "100 Continue", so that it can refuse an upload before the caller sends the bytes.
    this.server.on("checkContinue", (request, response) => this.server.emit("request", request, response));
    // The guard refuses other expectations with a problem.
    this.server.on("checkExpectation", (request, response) => this.server.emit("request", request, response));
    this.server.on("upgrade", (_request, socket: Socket) => this.#dropRest(socket));
    this.#connections = new OpenConnections(this.server, { ...limits, most: connections });
    let warnedAt = Number.NEGATIVE_INFINITY;
    this.server.on("drop", () => {
      onOverLimit();
      if (performance.now() - warnedAt < WARNING_MILLISECONDS) return;
      warnedAt = performance.now();
      log.warn({ connections }, "the limit of open connections is reached; new connections are closed");
    });
  }

  /**
   * The class of requests. One that is beyond the limit of its connection looks like a change of protocol to Node, which then
   * parses no further byte of the connection and emits `upgrade`. In no other way does Node stop within what it has read.
   */
  #messageClass(): typeof IncomingMessage {
    const isBeyond = (socket: Socket) => this.#connections.unanswered(socket) >= MAX_UNANSWERED;
    return class extends GuardedMessage {
      constructor(socket: Socket) {
        super(socket);
        if (isBeyond(socket))
          Object.defineProperty(this, "upgrade", { get: () => true, set: () => undefined });
      }
    };
  }

  /** Drops pipelined bytes, and closes the connection after the current answer. */
  #dropRest(socket: Socket): void {
    const current = this.#connections.current(socket);
    if (current === undefined) {
      socket.destroy();
      return;
    }
    if (!current.headersSent) current.shouldKeepAlive = false;
    current.once("close", () => socket.destroySoon());
    // Node has removed its own listeners.
    socket.on("drain", () => current.emit("drain")).on("error", () => undefined);
    for (const event of ["timeout", "end"]) socket.once(event, () => socket.destroy());
    socket.resume();
  }

  /**
   * Handles a request once the one before it on its connection is answered: RFC 9112 (9.3.2) lets a server handle only safe
   * ones at the same time. It starts in a separate turn of the event loop. If the connection has closed meanwhile, the request is
   * not handled.
   */
  #inTurn(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const { socket } = request;
    response.setMaxListeners(MAX_LISTENERS);
    request.once(TINY_PIECES, () => endWithStatus(socket, 400, this.owesAnswer(socket)));
    const before = this.#last.get(socket);
    this.#last.set(socket, response);
    // RFC 9110 (10.1.1): a client of HTTP/1.0 does not know "100 Continue".
    if (request.httpVersion === "1.0") delete request.headers.expect;
    if (before === undefined || before.closed) handle();
    else before.once("close", () => setImmediate(() => socket.writable && handle()));
  }

  /** Whether a client would read what is now sent on a connection as the answer to an earlier request, or as a part of it. */
  owesAnswer(socket: Socket): boolean {
    return this.#connections.owesAnswer(socket);
  }

  /** Closes the connections, so that the server itself can close within seconds. */
  close(): void {
    this.#connections.close();
  }
}
