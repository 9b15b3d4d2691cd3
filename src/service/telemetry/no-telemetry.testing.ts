import type { Log } from "./log.ts";
import type { Telemetry } from "./telemetry.ts";

export const noLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export const noTelemetry: Telemetry = {
  requestStarted: ({ traceparent }) => ({ traceparent, ended: () => undefined }),
  streamOpened: () => () => undefined,
  connectionRefused: () => undefined,
  queued: () => undefined,
  started: () => undefined,
  attemptLost: () => undefined,
  ended: () => undefined,
  delivery: () => undefined,
  requestProcessEnded: () => undefined,
  gauges: () => undefined,
  metrics: async () => ({ contentType: "text/plain; version=0.0.4; charset=utf-8", body: "" }),
  close: async () => undefined,
};
