import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { isEnded, OPERATION_STATUSES } from "../../contract/api/operation-view.ts";
import { SUBMITTED_OPERATIONS } from "../../contract/config/job-operations.ts";
import { ERROR_TABLE } from "../../contract/errors/error-codes.ts";
import { MUCAST_COMMIT, MUCAST_VERSION } from "../../contract/version.ts";
import type { Log } from "./log.ts";
import {
  DELIVERY_OUTCOMES,
  type DeliveryOutcome,
  type Gauges,
  METHODS,
  REQUEST_KINDS,
  type RequestDone,
  type RequestKind,
  type RequestOutcome,
  type WatchedOperation,
} from "./telemetry.ts";

/** Seconds, from a small job of a warm service to overnight training. */
const JOB_BUCKETS = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200,
];
/** Default metrics of prom-client that are gauges with names of counters. Others have the same numbers by type. */
const MISNAMED_GAUGES = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

const REQUEST_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * The metrics of one service for Prometheus, in a separate registry. Labels have only bounded values: operations, statuses, codes,
 * patterns of routes and the operator's webhook targets; no ids and no paths.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #log: Log;
  #gauges: Gauges | undefined;

  readonly #submitted = this.#counter("operations_submitted", "Operations taken in.", "operation");
  readonly #ended = this.#counter("operations_ended", "Operations that have ended.", "operation", "status");
  readonly #failures = this.#counter(
    "operation_failures",
    "Operations that failed, by the code of the problem.",
    "operation",
    "code",
  );
  readonly #attempts = this.#counter(
    "attempts_started",
    "Attempts that this service has started.",
    "operation",
  );
  readonly #lost = this.#counter(
    "attempts_lost",
    "Attempts whose process or execution was lost.",
    "operation",
  );
  readonly #waited = this.#histogram(
    "operation_queue_seconds",
    "Time from submission to the first attempt.",
    JOB_BUCKETS,
    "operation",
  );
  readonly #ran = this.#histogram(
    "operation_run_seconds",
    "Time from the first attempt to the end.",
    JOB_BUCKETS,
    "operation",
    "status",
  );
  readonly #requests = this.#counter("http_requests", "Requests answered.", "method", "route", "status");
  readonly #refusedConnections = this.#counter(
    "http_connections_refused",
    "Connections refused because the limit of open connections was reached.",
  );
  readonly #answered = this.#histogram(
    "http_request_duration_seconds",
    "Time from a request to the end of its response. Event streams stay open by design.",
    REQUEST_BUCKETS,
    "method",
    "route",
  );
  readonly #deliveries = this.#counter(
    "webhook_deliveries",
    "Attempts to deliver an event.",
    "target",
    "outcome",
  );
  readonly #requestProcesses = this.#counter(
    "request_processes",
    "Processes that drew a report, prepared a CSV or recorded a run, by how they ended.",
    "kind",
    "outcome",
  );
  readonly #streams = this.#gauge("event_streams", "Streams of events that are open.");

  /** @param lostLines the number of lines that the log has lost. @param targets names of the webhooks. */
  constructor(log: Log, lostLines: () => number, targets: readonly string[]) {
    this.#log = log;
    new Counter({
      name: "mucast_log_lines_lost_total",
      help: "Log lines that could not be written.",
      registers: [this.#registry],
      collect() {
        this.reset();
        this.inc(lostLines());
      },
    });
    this.#describeBuild();
    collectDefaultMetrics({ register: this.#registry });
    for (const name of MISNAMED_GAUGES) this.#registry.removeSingleMetric(name);
    this.#beginAtZero(targets);
    this.#readGauge(
      "operations_queued",
      "Operations waiting to start, for all services on the database.",
      (gauges) => gauges.queueLength(),
    );
    this.#readGauge("jobs_running", "Jobs that this service runs.", (gauges) => gauges.runningJobs());
    this.#readGauge("request_processes_running", "Processes that work on single requests.", (gauges) =>
      gauges.requestProcesses(),
    );
    this.#readGauge("cores_in_use", "Cores that its running jobs have.", (gauges) => gauges.coresTaken());
  }

  /** Always 1: other metrics can be joined with its labels. An unknown commit has no label. */
  #describeBuild(): void {
    const labels = {
      version: MUCAST_VERSION,
      ...(MUCAST_COMMIT === undefined ? {} : { commit: MUCAST_COMMIT }),
    };
    const name = "mucast_build_info";
    const help = "The version and the commit of this service.";
    new Gauge({ name, help, labelNames: ["version", "commit"], registers: [this.#registry] }).set(labels, 1);
  }

  /** Counters with known labels start at 0, so that their first event is an increase. */
  #beginAtZero(targets: readonly string[]): void {
    const codes = Object.keys(ERROR_TABLE);
    for (const operation of SUBMITTED_OPERATIONS) {
      this.#submitted.inc({ operation }, 0);
      this.#attempts.inc({ operation }, 0);
      this.#lost.inc({ operation }, 0);
      for (const status of OPERATION_STATUSES.filter(isEnded)) this.#ended.inc({ operation, status }, 0);
      for (const code of codes) this.#failures.inc({ operation, code }, 0);
    }
    for (const kind of REQUEST_KINDS) {
      for (const outcome of ["done", ...codes]) this.#requestProcesses.inc({ kind, outcome }, 0);
    }
    for (const target of targets) {
      for (const outcome of DELIVERY_OUTCOMES) this.#deliveries.inc({ target, outcome }, 0);
    }
  }

  set gauges(gauges: Gauges) {
    this.#gauges = gauges;
  }

  queued({ operation }: Pick<WatchedOperation, "operation">): void {
    this.#submitted.inc({ operation });
  }

  started({ operation, attempt, created_at, attempt_started_at }: WatchedOperation): void {
    this.#attempts.inc({ operation });
    if (attempt === 1 && attempt_started_at)
      this.#waited.observe({ operation }, seconds(created_at, attempt_started_at));
  }

  attemptLost({ operation }: Pick<WatchedOperation, "operation">): void {
    this.#lost.inc({ operation });
  }

  ended({ operation, status, started_at, finished_at, error }: WatchedOperation): void {
    this.#ended.inc({ operation, status });
    if (status === "Failed") this.#failures.inc({ operation, code: knownCode(error?.code) });
    if (started_at && finished_at) this.#ran.observe({ operation, status }, seconds(started_at, finished_at));
  }

  requestEnded(method: string, { route = "none", status }: RequestDone, secondsTaken: number): void {
    const known = METHODS.has(method) ? method : "other";
    this.#requests.inc({ method: known, route, status });
    this.#answered.observe({ method: known, route }, secondsTaken);
  }

  connectionRefused(): void {
    this.#refusedConnections.inc();
  }

  streams(change: 1 | -1): void {
    this.#streams.inc(change);
  }

  delivery(target: string, outcome: DeliveryOutcome): void {
    this.#deliveries.inc({ target, outcome });
  }

  requestProcessEnded(kind: RequestKind, outcome: RequestOutcome): void {
    this.#requestProcesses.inc({ kind, outcome });
  }

  async read(): Promise<{ contentType: string; body: string }> {
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() };
  }

  #counter<L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> {
    return new Counter({ name: `mucast_${name}_total`, help, labelNames, registers: [this.#registry] });
  }

  #histogram<L extends string>(
    name: string,
    help: string,
    buckets: number[],
    ...labelNames: L[]
  ): Histogram<L> {
    return new Histogram({ name: `mucast_${name}`, help, labelNames, buckets, registers: [this.#registry] });
  }

  #gauge(name: string, help: string, collect?: (this: Gauge) => Promise<void>): Gauge {
    return new Gauge({
      name: `mucast_${name}`,
      help,
      registers: [this.#registry],
      ...(collect ? { collect } : {}),
    });
  }

  /** A gauge whose value is read with the metrics. If that fails, the gauge is missing from the answer. */
  #readGauge(name: string, help: string, read: (gauges: Gauges) => number | Promise<number>): void {
    const metrics = this;
    this.#gauge(name, help, async function () {
      try {
        if (metrics.#gauges) this.set(await read(metrics.#gauges));
      } catch (error) {
        this.remove();
        metrics.#log.warn({ err: error, metric: name }, "a metric could not be read");
      }
    });
  }
}

function knownCode(code: string | undefined): string {
  return code !== undefined && Object.hasOwn(ERROR_TABLE, code) ? code : "other";
}

/** Never negative, since the times may come from the clocks of two machines. */
function seconds(from: Date, to: Date): number {
  return Math.max(0, to.getTime() - from.getTime()) / 1_000;
}
