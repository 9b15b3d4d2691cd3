import type { Log } from "./log.ts";
import { Metrics } from "./metrics.ts";
import type { Telemetry } from "./telemetry.ts";
import { noTraces, type Traces, wantsTraces } from "./traces.ts";

/**
 * Opens metrics, and traces if the environment names an endpoint for them.
 * @param env the environment of the process: OpenTelemetry's packages read the other variables from there.
 */
export async function openTelemetry({
  log,
  lostLines = () => 0,
  webhooks = [],
  env,
}: {
  readonly log: Log;
  /** The number of lines that the log has lost. */
  readonly lostLines?: () => number;
  /** The targets of events. */
  readonly webhooks?: readonly { readonly name: string }[];
  readonly env: Readonly<Record<string, string | undefined>>;
}): Promise<Telemetry> {
  const metrics = new Metrics(
    log,
    lostLines,
    webhooks.map(({ name }) => name),
  );
  const traces = wantsTraces(env) ? await openTraces(log) : noTraces;
  return {
    requestStarted: (request) => {
      const startedAt = performance.now();
      const watched = traces.request(request);
      let isOpen = true;
      return {
        traceparent: watched.traceparent,
        ended: (done) => {
          if (!isOpen) return;
          isOpen = false;
          metrics.requestEnded(request.method, done, (performance.now() - startedAt) / 1_000);
          watched.ended(done);
        },
      };
    },
    streamOpened: () => {
      metrics.streams(1);
      let isOpen = true;
      return () => {
        if (isOpen) metrics.streams(-1);
        isOpen = false;
      };
    },
    connectionRefused: () => metrics.connectionRefused(),
    queued: (operation) => metrics.queued(operation),
    started: (operation) => metrics.started(operation),
    attemptLost: (operation) => metrics.attemptLost(operation),
    ended: (operation, timings) => {
      metrics.ended(operation);
      traces.operation(operation, timings);
    },
    delivery: (target, outcome) => metrics.delivery(target, outcome),
    requestProcessEnded: (kind, outcome) => metrics.requestProcessEnded(kind, outcome),
    gauges: (gauges) => {
      metrics.gauges = gauges;
    },
    metrics: () => metrics.read(),
    close: () => traces.close(),
  };
}

/** Loads the packages that create and send spans only if traces are wanted. */
async function openTraces(log: Log): Promise<Traces> {
  const { otlpTraces } = await import("./otlp-traces.ts");
  return otlpTraces(log);
}
