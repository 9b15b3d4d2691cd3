import { setTimeout as pauseFor } from "node:timers/promises";
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Timing } from "../../contract/output/job-events.ts";
import { MUCAST_BUILD, MUCAST_VERSION } from "../../contract/version.ts";
import type { Log } from "./log.ts";
import {
  METHODS,
  type RequestBegun,
  readTraceparent,
  type WatchedOperation,
  type WatchedRequest,
  writeTraceparent,
} from "./telemetry.ts";

const CLOSE_MILLISECONDS = 3_000;

/** By OpenTelemetry's own variables. If the collector is unreachable, its spans are lost and the service continues. */
export function otlpTraces(log: Log) {
  const env = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] });
  const service = resourceFromAttributes({ "service.name": "mucast", "service.version": MUCAST_BUILD });
  const { OTEL_BSP_SCHEDULE_DELAY: delay = "" } = process.env;
  const processor = new BatchSpanProcessor({
    exporter: openExporter(log),
    // Only full distributions of the SDK read this variable of OpenTelemetry.
    scheduledDelayMillis: /^[1-9]\d{0,6}$/.test(delay) ? Number(delay) : 5_000,
  });
  const resource = defaultResource().merge(service).merge(env);
  const provider = new TracerProvider({ resource, spanProcessors: [processor] });
  const tracer = provider.getTracer("mucast", MUCAST_VERSION);

  return {
    request({ method, traceparent }: RequestBegun): WatchedRequest {
      const known = METHODS.has(method);
      const name = known ? method : "HTTP";
      const attributes = { "http.request.method": known ? method : "_OTHER" };
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, readContext(traceparent));
      return {
        traceparent: writeTraceparent(span.spanContext()),
        ended({ route, status, code }) {
          if (route !== undefined) span.updateName(`${name} ${route}`).setAttribute("http.route", route);
          span.setAttribute("http.response.status_code", status);
          if (status >= 400) span.setAttribute("error.type", code ?? String(status));
          if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        },
      };
    },
    ended(ended: WatchedOperation, timings: readonly Timing[]): void {
      const { id, operation, status, attempt, error, created_at, started_at, finished_at } = ended;
      const startTime = started_at ?? created_at;
      const span = tracer.startSpan(operation, { startTime }, readContext(ended.traceparent));
      span.setAttributes({
        "mucast.operation.id": id,
        "mucast.operation.name": operation,
        "mucast.operation.status": status,
        "mucast.operation.attempt": attempt,
      });
      if (started_at !== null) {
        const seconds = (started_at.getTime() - created_at.getTime()) / 1_000;
        span.setAttribute("mucast.operation.queue_seconds", seconds);
      }
      if (error !== null) span.setAttribute("error.type", error.code);
      if (status === "Failed")
        span.setStatus({ code: SpanStatusCode.ERROR, message: error?.code ?? "failed" });
      const parent = trace.setSpan(ROOT_CONTEXT, span);
      for (const { name, start, end } of timings.slice(0, 500)) {
        if (!(end >= start)) continue;
        // Spans of one kind have one name; the ticker of a fit is an attribute.
        const ticker = /^fit (.{1,100})/.exec(name)?.[1];
        const kind = ticker === undefined ? name : "fit ticker";
        const step = tracer.startSpan(kind, { startTime: start }, parent);
        if (ticker !== undefined) step.setAttribute("mucast.ticker", ticker);
        step.end(end);
      }
      span.end(finished_at ?? new Date());
    },
    async close(): Promise<void> {
      const tooLate = new Error(`not sent within ${CLOSE_MILLISECONDS} ms`);
      const late = pauseFor(CLOSE_MILLISECONDS, tooLate, { ref: false });
      const error = await Promise.race([provider.shutdown(), late]).catch((thrown: unknown) => thrown);
      if (error !== undefined) log.warn({ err: error }, "the last traces were not sent");
    },
  };
}

/** Logs once when spans can no longer be sent, and once when they can again. */
function openExporter(log: Log): OTLPTraceExporter {
  const exporter = new OTLPTraceExporter();
  const send = exporter.export.bind(exporter);
  let isFailing = false;
  exporter.export = (spans, done) =>
    send(spans, (result) => {
      if (result.error && !isFailing) log.warn({ err: result.error }, "traces cannot be sent");
      if (!result.error && isFailing) log.info({}, "sending traces works again");
      isFailing = result.error !== undefined;
      done(result);
    });
  return exporter;
}

function readContext(traceparent: string | null | undefined) {
  const context = readTraceparent(traceparent);
  if (context === undefined) return ROOT_CONTEXT;
  const traceFlags = context.traceFlags & 1;
  return trace.setSpanContext(ROOT_CONTEXT, { ...context, traceFlags, isRemote: true });
}
