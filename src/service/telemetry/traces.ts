import type { Timing } from "../../contract/output/status-blob.ts";
import type { RequestBegun, WatchedOperation, WatchedRequest } from "./telemetry.ts";

/** Makes spans. */
export interface Traces {
  request(request: RequestBegun): WatchedRequest;
  /** Records an ended operation with the timings of its job. */
  operation(operation: WatchedOperation, timings: readonly Timing[]): void;
  close(): Promise<void>;
}

/** Creates no spans, and passes on the trace of the caller. */
export const noTraces: Traces = {
  request: ({ traceparent }) => {
    const context = readTraceparent(traceparent);
    return { traceparent: context && writeTraceparent(context), ended: () => undefined };
  },
  operation: () => undefined,
  close: async () => undefined,
};

/** Whether the environment names an endpoint for spans, by the variables of OpenTelemetry. */
export function wantsTraces(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true") return false;
  return [env.OTEL_EXPORTER_OTLP_ENDPOINT, env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT].some((url) => url?.trim());
}

/** W3C trace context: trace, span and flags of version 00 and of later versions. */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

/** @returns undefined if the text is missing or not a trace context: then a new trace starts here. */
export function readTraceparent(text: string | null | undefined): TraceContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

export function writeTraceparent({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${(flags & 0xff).toString(16).padStart(2, "0")}`;
}
