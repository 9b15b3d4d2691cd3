import { setTimeout as pauseFor } from "node:timers/promises";
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Timing } from "../../contract/output/job-events.ts";
import { MUCAST_BUILD, MUCAST_VERSION } from "../../contract/version.ts";
import type { Log } from "./log.ts";
import { readTraceparent, type Traces, writeTraceparent } from "./open-telemetry.ts";
import {
  METHODS,
  type RequestBegun,
  type RequestDone,
  type WatchedOperation,
  type WatchedRequest,
} from "./telemetry.ts";

const CLOSE_MILLISECONDS = 3_000;
const MAX_TIMINGS = 500;

/**
 * Sends spans over OTLP/HTTP (JSON) to OTEL_EXPORTER_OTLP_ENDPOINT, with the headers, time limits and resource of OpenTelemetry's
 * other variables. If the collector is unreachable, its spans are lost and the service continues.
 */
export function otlpTraces(log: Log): Traces {
  const env = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] });
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "mucast", "service.version": MUCAST_BUILD }))
    .merge(env);
  const { OTEL_BSP_SCHEDULE_DELAY: delay = "" } = process.env;
  const processor = new BatchSpanProcessor({
    exporter: loggingFailures(new OTLPTraceExporter(), log),
    // Only full distributions of the SDK read this variable of OpenTelemetry.
    scheduledDelayMillis: /^[1-9]\d{0,6}$/.test(delay) ? Number(delay) : 5_000,
  });
  const provider = new TracerProvider({ resource, spanProcessors: [processor] });
  const tracer = provider.getTracer("mucast", MUCAST_VERSION);
  return {
    request: (request) => recordRequest(tracer, request),
    ended: (operation, timings) => recordOperation(tracer, operation, timings),
    async close() {
      const late = pauseFor(CLOSE_MILLISECONDS, undefined, { ref: false }).then(() => {
        throw new Error(`not sent within ${CLOSE_MILLISECONDS} ms`);
      });
      await Promise.race([provider.shutdown(), late]).catch((error: unknown) =>
        log.warn({ err: error }, "the last traces were not sent"),
      );
      late.catch(() => undefined);
    },
  };
}

/** Logs once when spans can no longer be sent, and once when they can again. */
function loggingFailures(exporter: SpanExporter, log: Log): SpanExporter {
  let failing = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.error && !failing) log.warn({ err: result.error }, "traces cannot be sent");
        if (!result.error && failing) log.info({}, "sending traces works again");
        failing = result.error !== undefined;
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

function recordRequest(tracer: Tracer, { method, traceparent }: RequestBegun): WatchedRequest {
  const known = METHODS.has(method);
  const attributes = { "http.request.method": known ? method : "_OTHER" };
  const name = known ? method : "HTTP";
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, readContext(traceparent));
  return {
    traceparent: writeTraceparent(span.spanContext()),
    ended: (done) => endRequest(span, name, done),
  };
}

function endRequest(span: Span, name: string, { route, status, code }: RequestDone): void {
  if (route !== undefined) span.updateName(`${name} ${route}`);
  span.setAttributes({
    "http.response.status_code": status,
    ...(route === undefined ? {} : { "http.route": route }),
    ...(status < 400 ? {} : { "error.type": code ?? String(status) }),
  });
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/** Makes the span of an ended operation, from its start to its end, as a child of the request that submitted it. */
function recordOperation(tracer: Tracer, operation: WatchedOperation, timings: readonly Timing[]): void {
  const { created_at, started_at, finished_at, status, error } = operation;
  const span = tracer.startSpan(
    operation.operation,
    { startTime: started_at ?? created_at, attributes: describeOperation(operation) },
    readContext(operation.traceparent),
  );
  if (status === "Failed") span.setStatus({ code: SpanStatusCode.ERROR, message: error?.code ?? "failed" });
  recordTimings(tracer, trace.setSpan(ROOT_CONTEXT, span), timings);
  span.end(finished_at ?? new Date());
}

function describeOperation({
  id,
  operation,
  status,
  attempt,
  error,
  created_at,
  started_at,
}: WatchedOperation) {
  const queued = started_at && (started_at.getTime() - created_at.getTime()) / 1_000;
  return {
    "mucast.operation.id": id,
    "mucast.operation.name": operation,
    "mucast.operation.status": status,
    "mucast.operation.attempt": attempt,
    ...(queued === null ? {} : { "mucast.operation.queue_seconds": queued }),
    ...(error ? { "error.type": error.code } : {}),
  };
}

function recordTimings(tracer: Tracer, parent: Context, timings: readonly Timing[]): void {
  for (const { name, start, end } of timings.slice(0, MAX_TIMINGS)) {
    if (!(end >= start)) continue;
    // Spans of one kind have one name; the ticker of a fit is an attribute.
    const ticker = /^fit (.{1,100})/.exec(name)?.[1];
    const attributes: Attributes = ticker === undefined ? {} : { "mucast.ticker": ticker };
    const span = ticker === undefined ? name : "fit ticker";
    tracer.startSpan(span, { startTime: start, attributes }, parent).end(end);
  }
}

function readContext(traceparent: string | null | undefined): Context {
  const context = readTraceparent(traceparent);
  if (context === undefined) return ROOT_CONTEXT;
  const traceFlags = context.traceFlags & 1;
  return trace.setSpanContext(ROOT_CONTEXT, { ...context, traceFlags, isRemote: true });
}
