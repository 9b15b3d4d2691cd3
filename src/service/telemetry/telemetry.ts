import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { isEnded, OPERATION_STATUSES } from "../../contract/api/operation-view.ts";
import { SUBMITTED_OPERATIONS } from "../../contract/config/job-operations.ts";
import { ERROR_TABLE, type ErrorCode } from "../../contract/errors/error-codes.ts";
import type { Timing } from "../../contract/output/job-events.ts";
import { MUCAST_COMMIT, MUCAST_VERSION } from "../../contract/version.ts";
import type { OperationRow } from "../database/tables.ts";
import type { Log } from "./log.ts";
import type { otlpTraces } from "./otlp-traces.ts";

/** Receives what the parts of the service report, for traces and metrics. No method throws or waits. */
export type Telemetry = Awaited<ReturnType<typeof openTelemetry>>;

export interface RequestBegun {
  readonly method: string;
  readonly traceparent?: string | undefined;
}

export interface WatchedRequest {
  /** The trace context to store with an operation and to pass on, if there is one. */
  readonly traceparent: string | undefined;
  ended(done: RequestDone): void;
}

type Traces = ReturnType<typeof otlpTraces>;

interface TelemetryParts {
  readonly log: Log;
  readonly lostLines?: () => number;
  readonly webhooks?: readonly { readonly name: string }[];
  /** The environment of the process: OpenTelemetry's packages read the other variables from there. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type WatchedOperation = Pick<
  OperationRow,
  | ("id" | "operation" | "status" | "attempt" | "traceparent" | "error")
  | ("created_at" | "started_at" | "attempt_started_at" | "finished_at")
>;

export interface RequestDone {
  /** The pattern of the route, such as `/v1/operations/:id`; undefined if none matched. Never a path. */
  readonly route: string | undefined;
  readonly status: number;
  readonly code?: string | undefined;
}

/** `track` works for an ended job, the others for a request. */
const REQUEST_KINDS = ["report", "prepare", "validate", "track"] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

/** All other methods, which callers may invent, share one label. */
export const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Of one attempt to deliver an event: `retried` failed and will be repeated, `failed` will not. */
export const DELIVERY_OUTCOMES = ["delivered", "retried", "failed"] as const;
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number];

/** Seconds, from a small job of a warm service to overnight training. */
const JOB_BUCKETS = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200,
];
const REQUEST_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Default metrics of prom-client that are gauges with names of counters. Others have the same numbers by type. */
const MISNAMED_GAUGES = ["handles", "requests", "resources"].map((what) => `nodejs_active_${what}_total`);

const COUNTERS = {
  operations_submitted: ["Operations taken in.", "operation"],
  operations_ended: ["Operations that have ended.", "operation", "status"],
  operation_failures: ["Operations that failed, by the code of the problem.", "operation", "code"],
  attempts_started: ["Attempts that this service has started.", "operation"],
  attempts_lost: ["Attempts whose process or execution was lost.", "operation"],
  http_requests: ["Requests answered.", "method", "route", "status"],
  http_connections_refused: ["Connections refused because the limit of open connections was reached."],
  webhook_deliveries: ["Attempts to deliver an event.", "target", "outcome"],
  request_processes: ["Processes that worked on one request, by how they ended.", "kind", "outcome"],
} as const satisfies Record<string, readonly [help: string, ...labels: string[]]>;

/** Gauges that are read with the metrics, and what gives their values. */
const GAUGES = {
  operations_queued: ["Operations waiting to start, for all services on the database.", "queueLength"],
  jobs_running: ["Jobs that this service runs.", "runningJobs"],
  request_processes_running: ["Processes that work on single requests.", "requestProcesses"],
  cores_in_use: ["Cores that its running jobs have.", "coresTaken"],
} as const;

type Gauges = Readonly<Record<(typeof GAUGES)[keyof typeof GAUGES][1], () => number | Promise<number>>>;

/** Labels have only bounded values: operations, statuses, codes, patterns of routes, webhook targets; no ids and no paths. */
export async function openTelemetry({ log, env, lostLines = () => 0, webhooks = [] }: TelemetryParts) {
  // The packages that create and send spans are loaded only if traces are wanted.
  const endpoint = env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim() || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?.trim();
  const isDisabled = env.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true";
  const traces = endpoint && !isDisabled ? (await import("./otlp-traces.ts")).otlpTraces(log) : NO_TRACES;
  const registry = new Registry();
  const registers = [registry];
  const counters = Object.entries(COUNTERS).map(([name, [help, ...labelNames]]) => {
    return [name, new Counter({ name: `mucast_${name}_total`, help, labelNames, registers })];
  });
  const count: Record<keyof typeof COUNTERS, Counter> = Object.fromEntries(counters);
  const histogram = (name: string, help: string, buckets: number[], ...labelNames: string[]) =>
    new Histogram({ name: `mucast_${name}_seconds`, help, labelNames, buckets, registers });
  const toStart = "Time from submission to the first attempt.";
  const waited = histogram("operation_queue", toStart, JOB_BUCKETS, "operation");
  const toEnd = "Time from the first attempt to the end.";
  const ran = histogram("operation_run", toEnd, JOB_BUCKETS, "operation", "status");
  const toAnswer = "Time from a request to the end of its response. Event streams stay open by design.";
  const answered = histogram("http_request_duration", toAnswer, REQUEST_BUCKETS, "method", "route");
  const open = "Streams of events that are open.";
  const streams = new Gauge({ name: "mucast_event_streams", help: open, registers });
  new Counter({
    name: "mucast_log_lines_lost_total",
    help: "Log lines that could not be written.",
    registers,
    collect() {
      this.reset();
      this.inc(lostLines());
    },
  });
  // Always 1: other metrics can be joined with its labels. An unknown commit has no label.
  new Gauge({
    name: "mucast_build_info",
    help: "The version and the commit of this service.",
    labelNames: ["version", "commit"],
    registers,
  }).set({ version: MUCAST_VERSION, ...(MUCAST_COMMIT === undefined ? {} : { commit: MUCAST_COMMIT }) }, 1);
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED_GAUGES) registry.removeSingleMetric(name);

  // Counters with known labels start at 0, so that their first event is an increase.
  const codes = Object.keys(ERROR_TABLE);
  for (const operation of SUBMITTED_OPERATIONS) {
    for (const name of ["operations_submitted", "attempts_started", "attempts_lost"] as const)
      count[name].inc({ operation }, 0);
    for (const status of OPERATION_STATUSES.filter(isEnded))
      count.operations_ended.inc({ operation, status }, 0);
    for (const code of codes) count.operation_failures.inc({ operation, code }, 0);
  }
  for (const kind of REQUEST_KINDS)
    for (const outcome of ["done", ...codes]) count.request_processes.inc({ kind, outcome }, 0);
  for (const { name: target } of webhooks)
    for (const outcome of DELIVERY_OUTCOMES) count.webhook_deliveries.inc({ target, outcome }, 0);

  let sources: Gauges | undefined;
  for (const [name, [help, source]] of Object.entries(GAUGES)) {
    new Gauge({
      name: `mucast_${name}`,
      help,
      registers,
      async collect() {
        try {
          if (sources) this.set(await sources[source]());
        } catch (error) {
          // The gauge is missing from the answer.
          this.remove();
          log.warn({ err: error, metric: name }, "a metric could not be read");
        }
      },
    });
  }

  return {
    requestStarted(request: RequestBegun): WatchedRequest {
      const startedAt = performance.now();
      const { traceparent, ended } = traces.request(request);
      return {
        traceparent,
        ended(done) {
          const { route = "none", status } = done;
          const method = METHODS.has(request.method) ? request.method : "other";
          count.http_requests.inc({ method, route, status });
          answered.observe({ method, route }, (performance.now() - startedAt) / 1_000);
          ended(done);
        },
      };
    },
    streamOpened(): () => void {
      streams.inc();
      return () => streams.dec();
    },
    connectionRefused: () => count.http_connections_refused.inc(),
    queued: ({ operation }: WatchedOperation) => count.operations_submitted.inc({ operation }),
    started({ operation, attempt, created_at, attempt_started_at: startedAt }: WatchedOperation): void {
      count.attempts_started.inc({ operation });
      if (attempt === 1 && startedAt) waited.observe({ operation }, secondsBetween(created_at, startedAt));
    },
    attemptLost: ({ operation }: WatchedOperation) => count.attempts_lost.inc({ operation }),
    ended(ended: WatchedOperation, timings: readonly Timing[]): void {
      const { operation, status, started_at, finished_at, error } = ended;
      count.operations_ended.inc({ operation, status });
      const code = Object.hasOwn(ERROR_TABLE, error?.code ?? "") ? error!.code : "other";
      if (status === "Failed") count.operation_failures.inc({ operation, code });
      if (started_at && finished_at)
        ran.observe({ operation, status }, secondsBetween(started_at, finished_at));
      traces.ended(ended, timings);
    },
    delivery: (target: string, outcome: DeliveryOutcome) => count.webhook_deliveries.inc({ target, outcome }),
    requestProcessEnded: (kind: RequestKind, outcome: "done" | ErrorCode) =>
      count.request_processes.inc({ kind, outcome }),
    gauges(gauges: Gauges): void {
      sources = gauges;
    },
    metrics: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
    /** Sends the last spans, for some seconds at most. */
    close: () => traces.close(),
  };
}

/** Never negative, since the times may come from the clocks of two machines. */
function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, to.getTime() - from.getTime()) / 1_000;
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
