import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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
  readonly #server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const body = Buffer.concat(pieces);
      this.paths.push(request.url!);
      this.headers.push(request.headers);
      if (this.status === 0) return;
      if (this.status === 200) {
        this.#keep(
          JSON.parse((request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString()),
        );
      }
      response.writeHead(this.status, { "content-type": "application/json" }).end("{}");
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #keep({ resourceSpans }: { resourceSpans: ResourceSpans[] }): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      this.resources.push(plain(resource.attributes));
      for (const { spans } of scopeSpans) {
        for (const span of spans) this.spans.push({ ...span, attributes: plain(span.attributes) });
      }
    }
  }
}

type Attribute = { readonly key: string; readonly value: Record<string, unknown> };

interface ResourceSpans {
  readonly resource: { readonly attributes: Attribute[] };
  readonly scopeSpans: {
    readonly spans: (Omit<ReceivedSpan, "attributes"> & { attributes: Attribute[] })[];
  }[];
}

function plain(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
