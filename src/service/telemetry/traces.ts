import type { Timing } from "../../contract/output/status-blob.ts";
import type { RequestBegun, WatchedOperation, WatchedRequest } from "./telemetry.ts";
import { readTraceparent, writeTraceparent } from "./traceparent.ts";

/** Where spans go. */
export interface Traces {
  request(request: RequestBegun): WatchedRequest;
  /** An operation that has ended, and what its job spent its time on. */
  operation(operation: WatchedOperation, timings: readonly Timing[]): void;
  close(): Promise<void>;
}

/** Makes no spans, and hands on the trace of who asks. */
export const noTraces: Traces = {
  request: ({ traceparent }) => {
    const context = readTraceparent(traceparent);
    return { traceparent: context && writeTraceparent(context), ended: () => undefined };
  },
  operation: () => undefined,
  close: async () => undefined,
};

/** Whether the environment names a place for spans, by the variables of OpenTelemetry. */
export function wantsTraces(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true") return false;
  return [env.OTEL_EXPORTER_OTLP_ENDPOINT, env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT].some((url) => url?.trim());
}
