import type { Agent as HttpAgent } from "node:http";
import type { HttpOperationResponse, IHttpClient, WebResource } from "@azure/storage-blob";
import type { TransferLimits } from "../policy.ts";
import { guardedAgent } from "../remote/addresses.ts";
import type { RemoteOptions } from "../remote/remote-blob.ts";
import { bodyOf, Refusal, send } from "../remote/remote-request.ts";

/** Far more than any answer to a write or a properties request, and more than a page of a list. */
const MAX_ANSWER_BYTES = 2 ** 20;

/**
 * Sends the requests of Azure's SDK under the same rules as every other request of mucast: checked addresses, no redirect, no proxy, time
 * limits. Bodies are bytes or text, and answers are short.
 */
export class AzureTransport implements IHttpClient {
  readonly #limits: TransferLimits;
  readonly #agent: HttpAgent;

  constructor(origin: string, { limits, addresses, ca }: RemoteOptions) {
    this.#limits = limits;
    this.#agent = guardedAgent(origin, addresses, { ca });
  }

  async sendRequest(request: WebResource): Promise<HttpOperationResponse> {
    const url = new URL(request.url);
    const answer = await send({
      url,
      method: request.method,
      headers: request.headers.toJson(),
      body: request.body as Uint8Array | string | undefined,
      agent: this.#agent,
      limits: this.#limits,
      signal: request.abortSignal as AbortSignal,
    });
    const status = answer.statusCode!;
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of bodyOf(answer, this.#limits.idleMs)) {
      bytes += chunk.length;
      if (bytes <= MAX_ANSWER_BYTES) chunks.push(chunk);
    }
    // Not left to the SDK, which would follow it.
    if (status >= 300 && status < 400) throw new Refusal({ doing: "reading", name: url.origin }, status, "");
    // The SDK does not export its class of headers.
    const headers = request.headers.clone();
    for (const name of headers.headerNames()) headers.remove(name);
    for (const [name, value] of Object.entries(answer.headers)) headers.set(name, String(value));
    return { request, status, headers, bodyAsText: Buffer.concat(chunks).toString("utf8") };
  }

  close(): void {
    this.#agent.destroy();
  }
}
