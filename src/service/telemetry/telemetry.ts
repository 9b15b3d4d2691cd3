import type { Timing } from "../../contract/output/status-blob.ts";
import type { Log } from "./log.ts";
import { openMetrics, type RequestDone, type WatchedOperation } from "./metrics.ts";

export type { DeliveryOutcome, RequestDone, RequestKind, WatchedOperation } from "./metrics.ts";

/** Receives what the parts of the service report, for traces and metrics. No method throws or waits. */
export type Telemetry = Awaited<ReturnType<typeof openTelemetry>>;

interface RequestBegun {
  readonly method: string;
  readonly traceparent?: string | undefined;
}

export interface Traces {
  /** @returns the trace context to store with an operation and to pass on, if there is one, and what to call once at the end. */
  request(request: RequestBegun): {
    readonly traceparent: string | undefined;
    ended(done: RequestDone): void;
  };
  ended(operation: WatchedOperation, timings: readonly Timing[]): void;
  close(): Promise<void>;
}

interface TelemetryParts {
  readonly log: Log;
  readonly lostLines?: () => number;
  readonly webhooks?: readonly { readonly name: string }[];
  /** The environment of the process: OpenTelemetry's packages read the other variables from there. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Opens metrics, and traces if the environment names an endpoint for them, by the variables of OpenTelemetry. */
export async function openTelemetry({ log, env, lostLines = () => 0, webhooks = [] }: TelemetryParts) {
  const targets = webhooks.map(({ name }) => name);
  const { requestEnded, ...metrics } = openMetrics(log, lostLines, targets);
  // The packages that create and send spans are loaded only if traces are wanted.
  const endpoint = env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim() || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?.trim();
  const isDisabled = env.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true";
  const traces = endpoint && !isDisabled ? (await import("./otlp-traces.ts")).otlpTraces(log) : NO_TRACES;
  return {
    ...metrics,
    requestStarted(request: RequestBegun): ReturnType<Traces["request"]> {
      const startedAt = performance.now();
      const { traceparent, ended } = traces.request(request);
      return {
        traceparent,
        ended(done) {
          requestEnded(request.method, done, (performance.now() - startedAt) / 1_000);
          ended(done);
        },
      };
    },
    /** An operation ended. @param timings of its job, if the job reported them. */
    ended(operation: WatchedOperation, timings: readonly Timing[]): void {
      metrics.ended(operation);
      traces.ended(operation, timings);
    },
    /** Sends the last spans, for some seconds at most. */
    close: () => traces.close(),
  };
}

/** Creates no spans, and passes on the trace of the caller. */
const NO_TRACES: Traces = {
  request({ traceparent }) {
    const context = readTraceparent(traceparent);
    return { traceparent: context && writeTraceparent(context), ended: () => undefined };
  },
  ended: () => undefined,
  close: async () => undefined,
};

/** W3C trace context: trace, span and flags of version 00 and of later versions. */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** @returns undefined if the text is missing or not a trace context: then a new trace starts here. */
export function readTraceparent(text: string | null | undefined) {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) };
}

export function writeTraceparent(context: { traceId: string; spanId: string; traceFlags: number }): string {
  const flags = (context.traceFlags & 0xff).toString(16).padStart(2, "0");
  return `00-${context.traceId}-${context.spanId}-${flags}`;
}
