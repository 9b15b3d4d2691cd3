import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { answering } from "../../../test/servers/answering.testing.ts";

export const SECRET = `whsec_${Buffer.from("twenty-four bytes, or more").toString("base64")}`;

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body, after its signature was verified. */
  readonly event: Record<string, unknown>;
}

/** A receiver of webhooks on loopback, as an operator may run it. It throws if a signature is wrong. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  /** The next answers; 200 if there are none. */
  readonly answers: ((response: ServerResponse) => void)[] = [];
  readonly #waiting = new Map<number, () => void>();
  readonly #server = createServer(
    answering(async (request, response) => {
      let body = "";
      for await (const piece of request) body += piece;
      const headers = request.headers;
      const event = new Webhook(SECRET).verify(body, headers as Record<string, string>);
      this.received.push({ path: request.url!, headers, body, event: event as Record<string, unknown> });
      const answer = this.answers.shift() ?? ((to) => to.writeHead(200).end("ok"));
      answer(response);
      this.#waiting.get(this.received.length)?.();
    }),
  );
  origin = "";

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.origin = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  /** Waits until this many events have arrived since the start. */
  async count(wanted: number): Promise<readonly Received[]> {
    if (this.received.length < wanted) {
      await new Promise<void>((resolve) => this.#waiting.set(wanted, resolve));
    }
    return this.received;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
