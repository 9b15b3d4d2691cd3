import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";

export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number; readonly message?: string };
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A fake collector on loopback that keeps the OTLP/HTTP in JSON that it receives. */
export class FakeOtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  readonly resources: Readonly<Record<string, unknown>>[] = [];
  readonly paths: string[] = [];
  readonly headers: NodeJS.Dict<string | string[]>[] = [];
  /** The status of its answers; 0: no answer. */
  status = 200;
  readonly #server = createServer(async (request, response) => {
    const body = await buffer(request);
    this.paths.push(request.url!);
    this.headers.push(request.headers);
    if (this.status === 0) return;
    const json = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
    if (this.status === 200) this.#keep(JSON.parse(json.toString()).resourceSpans);
    response.writeHead(this.status, { "content-type": "application/json" }).end("{}");
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  // biome-ignore lint/suspicious/noExplicitAny: the resourceSpans of OTLP.
  #keep(sent: any[]): void {
    const plain = (attributes: { key: string; value: object }[]) =>
      Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
    for (const { resource, scopeSpans } of sent) {
      this.resources.push(plain(resource.attributes));
      for (const { spans } of scopeSpans)
        for (const span of spans) this.spans.push({ ...span, attributes: plain(span.attributes) });
    }
  }
}
