import { createServer, type RequestListener, type Server } from "node:http";
import { OpenConnections } from "./open-connections.ts";

const HEADERS_MILLISECONDS = 15_000;
const HEADERS_CHECK_MILLISECONDS = 5_000;
/** Without a byte either way; longer than `Prefer: wait` and the comments of an event stream. */
const IDLE_MILLISECONDS = 120_000;
const KEPT_ALIVE_MILLISECONDS = 75_000;

/** A server that waits for nobody too long, neither for a request nor to end. */
export class HttpServer {
  readonly server: Server;
  readonly #connections: OpenConnections;

  constructor(handler: RequestListener) {
    this.server = createServer(
      {
        headersTimeout: HEADERS_MILLISECONDS,
        connectionsCheckingInterval: HEADERS_CHECK_MILLISECONDS,
        keepAliveTimeout: KEPT_ALIVE_MILLISECONDS,
        // An upload takes as long as it takes; small bodies have a limit of their own.
        requestTimeout: 0,
        // Looked at with the rest of it, and refused with a problem.
        requireHostHeader: false,
      },
      handler,
    );
    this.server.setTimeout(IDLE_MILLISECONDS);
    // An upload that is refused is told before its bytes are sent; so the handler says when to go on.
    this.server.on("checkContinue", (request, response) => this.server.emit("request", request, response));
    this.#connections = new OpenConnections(this.server);
  }

  /** Lets it end soon once it is closed. */
  end(): void {
    this.#connections.end();
  }
}
