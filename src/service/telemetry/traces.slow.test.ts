import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { after, beforeEach, describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { MucastError } from "../../contract/errors/errors.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { openLog } from "./log.ts";
import { noLog } from "./no-telemetry.testing.ts";
import { openTelemetry, type Telemetry, type WatchedOperation } from "./telemetry.ts";

interface ReceivedSpan {
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
class FakeOtlpReceiver {
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

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const SAMPLED = `00-${TRACE}-${PARENT}-01`;
const SECOND = 1_000_000_000n;

const receiver = new FakeOtlpReceiver();
process.env.OTEL_EXPORTER_OTLP_ENDPOINT = await receiver.listen();
process.env.OTEL_EXPORTER_OTLP_HEADERS = "x-tenant=t1";
// A little longer than the service waits when it closes.
process.env.OTEL_EXPORTER_OTLP_TIMEOUT = "3500";
process.env.OTEL_SERVICE_NAME = "forecasts";
process.env.OTEL_RESOURCE_ATTRIBUTES = "deployment.environment.name=test";
after(() => receiver.close());
beforeEach(() => {
  receiver.spans.length = 0;
  receiver.status = 200;
});

/** Returns what `use` returns, once every span was sent. */
async function traced<T>(use: (telemetry: Telemetry) => T, log = noLog): Promise<T> {
  const telemetry = await openTelemetry({ log, env: process.env });
  const result = use(telemetry);
  await telemetry.close();
  return result;
}

function span(name: string): ReceivedSpan {
  const found = receiver.spans.filter((each) => each.name === name);
  assert.equal(found.length, 1, `${name} among ${receiver.spans.map((each) => each.name)}`);
  return found[0]!;
}

function operation(fields: Partial<WatchedOperation> = {}): WatchedOperation {
  return {
    id: "op1",
    operation: "run_ml_job",
    status: "Succeeded",
    attempt: 2,
    traceparent: null,
    error: null,
    created_at: new Date(1_000_000),
    started_at: new Date(1_002_500),
    attempt_started_at: new Date(1_005_000),
    finished_at: new Date(1_010_000),
    ...fields,
  };
}

describe("the span of a request", () => {
  /** The context that a request passes on. */
  const send = (sent: string) =>
    traced((telemetry) => {
      const request = telemetry.requestStarted({ method: "POST", traceparent: sent });
      request.ended({ route: "/v1/run_ml_job", status: 202 });
      return request.traceparent;
    });

  it("continues the trace of the caller, has the name of its route, and passes its context on", async () => {
    const traceparent = await send(SAMPLED);
    const { traceId, parentSpanId, spanId, kind, attributes, status } = span("POST /v1/run_ml_job");
    assert.deepEqual([traceId, parentSpanId, kind, status.code], [TRACE, PARENT, 2, 0]);
    assert.deepEqual(attributes, {
      "http.request.method": "POST",
      "http.route": "/v1/run_ml_job",
      "http.response.status_code": 202,
    });
    assert.equal(traceparent, `00-${TRACE}-${spanId}-01`);
  });
});

describe("the span of an operation", () => {
  it("is a child of its request, from start to end, with the job's timings as children at their own times", async () => {
    const timings = [
      { name: "read", start: 1_005_100.25, end: 1_006_000 },
      { name: "fit", start: 1_006_000, end: 1_009_000 },
      { name: "fit BRK.B", start: 1_006_000, end: 1_007_000 },
      { name: "never ended", start: 1_009_000, end: Number.NaN },
    ];
    await traced((telemetry) => telemetry.ended(operation({ traceparent: SAMPLED }), timings));
    const whole = span("run_ml_job");
    assert.deepEqual([whole.traceId, whole.parentSpanId], [TRACE, PARENT]);
    assert.equal(BigInt(whole.startTimeUnixNano), (1_002_500n * SECOND) / 1_000n);
    assert.equal(BigInt(whole.endTimeUnixNano), 1_010n * SECOND);
    assert.deepEqual(whole.attributes, {
      "mucast.operation.id": "op1",
      "mucast.operation.name": "run_ml_job",
      "mucast.operation.status": "Succeeded",
      "mucast.operation.attempt": 2,
      "mucast.operation.queue_seconds": 2.5,
    });
    for (const name of ["read", "fit", "fit ticker"])
      assert.deepEqual([span(name).parentSpanId, span(name).traceId], [whole.spanId, TRACE]);
    assert.equal(span("read").startTimeUnixNano, "1005100250000");
    assert.equal(span("fit").endTimeUnixNano, "1009000000000");
    assert.deepEqual(span("fit ticker").attributes, { "mucast.ticker": "BRK.B" });
    assert.equal(receiver.spans.length, 4);
  });

  it("has the code of a failure, and exists for an operation that never started", async () => {
    const error = problemOf(new MucastError("timed_out", "after 5 s"));
    await traced((telemetry) => {
      telemetry.ended(operation({ status: "Failed", error }), []);
      telemetry.ended(operation({ operation: "run_dl_job", status: "Canceled", started_at: null }), []);
    });
    const { status, attributes } = span("run_ml_job");
    assert.deepEqual([status, attributes["error.type"]], [{ code: 2, message: "timed_out" }, "timed_out"]);
    const canceled = span("run_dl_job");
    assert.deepEqual([canceled.startTimeUnixNano, canceled.status.code], ["1000000000000", 0]);
  });
});

describe("sending", () => {
  const ask = (telemetry: Telemetry) =>
    telemetry.requestStarted({ method: "GET" }).ended({ route: "/readyz", status: 200 });

  it("that is refused or gets no answer is logged once and holds nothing up", async () => {
    for (const status of [400, 0]) {
      receiver.status = status;
      const lines: string[] = [];
      const destination = { write: (line: string) => void lines.push(line) };
      await traced(ask, openLog({ level: "warn", destination }));
      assert.match(lines.join(), /traces (cannot be|were not) sent/);
    }
  });
});

it("without an endpoint, the caller's context is passed on", async () => {
  const telemetry = await openTelemetry({ log: noLog, env: {} });
  for (const [traceparent, passed] of [
    [SAMPLED, SAMPLED],
    [`01-${TRACE}-${PARENT}-03-later`, `00-${TRACE}-${PARENT}-03`],
    ["junk\r\nx: y", undefined],
  ] as const)
    assert.equal(telemetry.requestStarted({ method: "GET", traceparent }).traceparent, passed);
});
