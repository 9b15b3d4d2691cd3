import type { Log } from "./log.ts";
import { openMetrics } from "./metrics.ts";
import type { RequestBegun, Telemetry, WatchedRequest } from "./telemetry.ts";

export type Traces = Pick<Telemetry, "ended" | "close"> & { request(request: RequestBegun): WatchedRequest };

interface TelemetryParts {
  readonly log: Log;
  readonly lostLines?: () => number;
  readonly webhooks?: readonly { readonly name: string }[];
  /** The environment of the process: OpenTelemetry's packages read the other variables from there. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Opens metrics, and traces if the environment names an endpoint for them, by the variables of OpenTelemetry. */
export async function openTelemetry(parts: TelemetryParts): Promise<Telemetry> {
  const { log, env, lostLines = () => 0, webhooks = [] } = parts;
  const metrics = openMetrics({ log, lostLines, targets: webhooks.map(({ name }) => name) });
  const traces = wantsTraces(env) ? await openTraces(log) : noTraces;
  return {
    ...metrics,
    requestStarted(request) {
      const startedAt = performance.now();
      const { traceparent, ended } = traces.request(request);
      return {
        traceparent,
        ended(done) {
          metrics.requestEnded(request.method, done, (performance.now() - startedAt) / 1_000);
          ended(done);
        },
      };
    },
    ended(operation, timings) {
      metrics.ended(operation, timings);
      traces.ended(operation, timings);
    },
    close: () => traces.close(),
  };
}

function wantsTraces(env: TelemetryParts["env"]): boolean {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true") return false;
  return [env.OTEL_EXPORTER_OTLP_ENDPOINT, env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT].some((url) => url?.trim());
}

/** Loads the packages that create and send spans only if traces are wanted. */
async function openTraces(log: Log): Promise<Traces> {
  const { otlpTraces } = await import("./otlp-traces.ts");
  return otlpTraces(log);
}

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

/** Creates no spans, and passes on the trace of the caller. */
const noTraces: Traces = {
  request({ traceparent }) {
    const context = readTraceparent(traceparent);
    return { traceparent: context && writeTraceparent(context), ended: () => undefined };
  },
  ended: () => undefined,
  close: async () => undefined,
};
