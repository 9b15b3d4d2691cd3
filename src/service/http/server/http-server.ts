import {
  createServer,
  IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { Log } from "../../telemetry/log.ts";
import { PROBLEM_TYPE, problemAnswer } from "./problem-answer.ts";
import { endWithProblem, SAFE_HEADERS } from "./send-problem.ts";

const HEADERS_MILLISECONDS = 15_000;
const HEADERS_CHECK_MILLISECONDS = 5_000;
/**
 * Time limit of a connection without a byte in either direction. Longer than `Prefer: wait` and than the gap between two comments of
 * an event stream.
 */
const IDLE_MILLISECONDS = 120_000;
const KEPT_ALIVE_MILLISECONDS = 75_000;

/** The paths that a connection beyond the limit may request. */
const HEALTH = /^\/(healthz|readyz)(\?|$)/;
/** Between two log lines about too many connections. */
const WARNING_MILLISECONDS = 60_000;

/** Maximum number of unanswered requests of one connection: the current one, and those that wait. */
const MAX_UNANSWERED = 101;

/** Maximum bytes that such requests, with headers, trailers and buffered bodies, may hold in memory per connection. */
const MAX_UNANSWERED_BYTES = 512 * 2 ** 10;

/** Node's overhead for each name and each value of a header. */
const HEADER_BYTES = 50;

/** Listeners of one event of an answer: limits, telemetry, timers, a download's file and Fastify itself wait for its end. */
const MAX_LISTENERS = 32;

/** Node's overhead for each piece of a body, which may be one byte. */
const PIECE_BYTES = 300;

/** Bytes of a body that Node reads before the service asks for them, plus one read of the socket. */
const UNASKED_BODY_BYTES = 8 * 2 ** 10;

/**
 * A body with more pieces than this must have on average at least this many bytes per piece: each piece costs as much as kilobytes
 * do.
 */
const MAX_TINY_PIECES = 4_096;
const MIN_BYTES_A_PIECE = 8;

/** A request that knows its size in memory, and refuses a body in tiny pieces. */
class WeighedMessage extends IncomingMessage {
  /** Pieces of the body that arrived since the buffer was last empty. */
  #pieces = 0;
  #allPieces = 0;
  #allBytes = 0;
  #isRefused = false;

  override push(piece: Buffer | null): boolean {
    // Node still parses the rest of what it has read from the socket.
    if (this.#isRefused) return false;
    if (this.readableLength === 0) this.#pieces = 0;
    this.#pieces += 1;
    if (piece !== null) this.#allPieces += 1;
    this.#allBytes += piece?.length ?? 0;
    if (this.#allPieces > MAX_TINY_PIECES && this.#allBytes < MIN_BYTES_A_PIECE * this.#allPieces) {
      this.#isRefused = true;
      this.emit(TINY_PIECES);
      return false;
    }
    return super.push(piece);
  }

  /** At most. */
  get bytesKept(): number {
    const heads = [this.url ?? "", ...this.rawHeaders, ...this.rawTrailers];
    const text = heads.reduce((sum, { length }) => sum + length + HEADER_BYTES, 0);
    return text + this.readableLength + (this.readableLength === 0 ? 0 : this.#pieces * PIECE_BYTES);
  }
}

/** The event of a request whose body comes in tiny pieces. */
const TINY_PIECES = "tinyPieces";
const TINY_PIECES_ERROR = `the body comes in more than ${MAX_TINY_PIECES} chunks of fewer than ${MIN_BYTES_A_PIECE} bytes on average; send larger ones`;

interface HttpServerOptions {
  /** Maximum number of parallel connections. A few more may be open for health checks. */
  readonly connections: number;
  readonly log: Log;
  /** Called for each connection beyond the limit. */
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
    const { connections, log, onOverLimit, headersMilliseconds = HEADERS_MILLISECONDS } = options;
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
        IncomingMessage: WeighedMessage,
      },
      (request, response) =>
        this.#inTurn(request, response, () => {
          if (this.#connections.isSpare(request.socket)) {
            response.shouldKeepAlive = false;
            if (!HEALTH.test(request.url ?? "")) {
              refuse(response, connections);
              return;
            }
          }
          handler(request, response);
        }),
    );
    // A connection that cannot be accepted emits an error, which would end the process without a listener. Before the server listens,
    // listen() rejects with the error.
    this.server.once("listening", () =>
      this.server.on("error", (error) => log.warn({ err: error }, "the server met an error")),
    );
    this.server.setTimeout(IDLE_MILLISECONDS);
    // The handler sends "100 Continue", so that it can refuse an upload before the caller sends the bytes.
    this.server.on("checkContinue", (request, response) => this.server.emit("request", request, response));
    // The guard refuses other expectations with a problem.
    this.server.on("checkExpectation", (request, response) => this.server.emit("request", request, response));
    this.server.on("connect", (_request, socket: Socket) => {
      if (this.#connections.unanswered(socket) === 0) refuseConnect(socket);
      // The client would read the refusal as the answer to an earlier request.
      else socket.destroy();
    });
    let warnedAt = Number.NEGATIVE_INFINITY;
    this.#connections = new OpenConnections(this.server, connections, () => {
      onOverLimit();
      if (performance.now() - warnedAt < WARNING_MILLISECONDS) return;
      warnedAt = performance.now();
      log.warn({ connections }, "as many connections are open as may be; others are refused");
    });
  }

  /**
   * Handles a request after the earlier ones of its connection are answered. Clients may send requests without waiting for answers,
   * and RFC 9112 (9.3.2) lets a server handle only safe ones in parallel. If the connection has closed in the meantime, the request
   * is not handled. Closes a connection on which too many wait, because Node would read and keep them all.
   */
  #inTurn(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const { socket } = request;
    if (
      this.#connections.unanswered(socket) > MAX_UNANSWERED ||
      this.#connections.unansweredBytes(socket) > MAX_UNANSWERED_BYTES
    ) {
      socket.destroy();
      return;
    }
    response.setMaxListeners(MAX_LISTENERS);
    request.once(TINY_PIECES, () => {
      if (this.owesAnswer(socket)) socket.destroy();
      else endWithProblem(socket, new MucastError("invalid_request", TINY_PIECES_ERROR, { path: "body" }));
    });
    const before = this.#last.get(socket);
    this.#last.set(socket, response);
    // RFC 9110 (10.1.1): a client of HTTP/1.0 does not know "100 Continue".
    if (request.httpVersion === "1.0") delete request.headers.expect;
    if (before === undefined || before.closed) handle();
    else before.once("close", () => socket.writable && handle());
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

/** Node leaves a socket with CONNECT to the service, without any listener. */
function refuseConnect(socket: Socket): void {
  socket.on("error", () => undefined).resume();
  const message = "this service is no proxy, and CONNECT is not allowed";
  endWithProblem(socket, new MucastError("method_not_allowed", message, { allow: [] }));
}

/** How long answers may take to end when the server closes. */
const LAST_ANSWERS_MILLISECONDS = 5_000;

/** Connections beyond the limit that may be open for health checks. A new one replaces the oldest. */
const SPARE = 16;
/** The server closes a spare connection after this long without a byte: a health check sends its request at once. */
const SPARE_IDLE_MILLISECONDS = 5_000;

/**
 * Limits the connections of a server, and closes them when the server closes. Node's own `close` waits for connections without a
 * request so far, and for those that a client keeps alive.
 */
class OpenConnections {
  /** The unfinished answers of each connection. */
  readonly #active = new Map<Socket, Set<ServerResponse>>();
  /** Connections within the limit that owe no answer, the longest idle first. */
  readonly #idle = new Set<Socket>();
  /** Connections beyond the limit, the oldest first. */
  readonly #spare = new Set<Socket>();
  #isClosing = false;

  /** @param most maximum number of connections. @param onOverLimit called for each connection beyond it. */
  constructor(server: Server, most: number, onOverLimit: () => void) {
    server.on("connection", (socket) => {
      if (this.#isClosing) socket.destroy();
      // A spare connection does not count towards the limit.
      if (this.#active.size - this.#spare.size >= most && !this.#closeLongestIdle()) {
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
      response.once("close", () => this.#removeAnswer(socket, response));
    });
  }

  /** Closes idle connections at once, others after their answer, and all of them after five seconds. */
  close(): void {
    this.#isClosing = true;
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

  /** The number of requests of a connection without a complete answer. */
  unanswered(socket: Socket): number {
    return this.#active.get(socket)?.size ?? 0;
  }

  /** The maximum number of bytes that such requests take in memory. Node reads some of each body before it is asked for. */
  unansweredBytes(socket: Socket): number {
    const active = this.#active.get(socket) ?? new Set();
    return [...active].reduce((sum, { req }) => sum + (req as WeighedMessage).bytesKept, 0);
  }

  /** Whether a complete request of a connection waits for its answer, or the handler is still writing an answer. */
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

  /** Makes room for another connection: a client that keeps many must not lock out the others. @returns whether one was idle. */
  #closeLongestIdle(): boolean {
    const [longest] = this.#idle;
    if (longest === undefined) return false;
    longest.destroy();
    this.#forget(longest);
    return true;
  }

  #forget(socket: Socket): void {
    this.#active.delete(socket);
    this.#idle.delete(socket);
    this.#spare.delete(socket);
  }

  #removeAnswer(socket: Socket, response: ServerResponse): void {
    const active = this.#active.get(socket);
    active?.delete(response);
    if (active?.size !== 0) return;
    if (this.#isClosing) socket.destroySoon();
    else if (!this.#spare.has(socket)) this.#idle.add(socket);
  }
}
