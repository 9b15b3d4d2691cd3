import { withoutSignature } from "../../blob/policy.ts";
import { type Fault, MucastError } from "../../contract/errors/errors.ts";
import { faultLine } from "../../contract/errors/faults.ts";
import { byNearness } from "../../contract/errors/nearest-name.ts";
import { counted, printable } from "../../contract/errors/wording.ts";
import type { JobEvent, Progress, Report, Stage } from "../../contract/output/job-events.ts";
import { type Failure, namedFailure, type Problem, problemOf } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { CodeCounts } from "../../contract/schema/answer-limits.ts";

export interface ReporterOptions {
  readonly format: "text" | "json";
  /** Silences progress; warnings are always written. */
  readonly quiet: boolean;
  readonly stream: NodeJS.WritableStream & { readonly isTTY?: boolean };
  /** The number of tickers for which a text stream repeats the same warning; the others are counted. All by default. */
  readonly tickersShown?: number;
  /** How many fits run at a time: they end together, so the pace is unknown until more have ended. */
  readonly workers?: number;
}

/** When a stage made its first progress, and how much was done then. */
interface FirstProgress {
  readonly at: number;
  readonly done: number;
}

const LABELS: Record<Stage, string> = {
  read: "reading",
  fit: "fitting",
  evaluate: "evaluating",
  write: "writing",
  truncation: "truncation",
  restatement: "restatement",
  foresight: "foresight",
  skill: "skill",
};
const MILLISECONDS_BETWEEN = { bar: 80, line: 2_000 };
const BAR_CELLS = 24;

/** Writes a job's events to stderr: a bar with ETA on a terminal, lines elsewhere, JSON objects with `--log json`. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #startedStages = new Set<Stage>();
  readonly #firstProgress = new Map<Stage, FirstProgress>();
  #lastWritten = Number.NEGATIVE_INFINITY;
  #barShown = false;
  readonly #warned = new Map<string, number>();
  readonly #tickersShown: number;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#tickersShown = options.tickersShown ?? Number.POSITIVE_INFINITY;
  }

  readonly report: Report = (event: JobEvent) => {
    switch (event.kind) {
      case "progress":
        if (!this.#options.quiet) this.#progress(event);
        break;
      case "warning":
        this.warn(event.warning);
        break;
      case "failure":
        this.fail(event.failure);
        break;
      case "summary":
        // The table of the output contains it.
        break;
      default:
        event satisfies never;
    }
  };

  /** A text stream shows a warning for the first tickers, and the number of the others at the end. */
  warn(warning: Warning): void {
    const shown = (this.#warned.get(warning.code) ?? 0) + 1;
    this.#warned.set(warning.code, shown);
    if (this.#options.format === "text" && warning.ticker !== undefined && shown > this.#tickersShown) return;
    this.#line({ level: "warning", ...warning }, () =>
      printable(`warning: ${warning.code}: ${warning.message}`),
    );
  }

  /** A ticker that the job drops; each is written, even with `--quiet`. */
  fail({ ticker, code, message }: Failure): void {
    this.#line({ level: "failure", ticker, code, message }, () =>
      printable(`failed: ${code}: ${namedFailure({ ticker, message })}`),
    );
  }

  /** A single line, such as the problem at the end. */
  write(record: Record<string, unknown>, text: string): void {
    this.#line(record, () => text);
  }

  /** Ends the reporting of a job: writes the number of warnings that were not shown. Another job may follow. */
  finish(): void {
    if (this.#options.format === "text") {
      for (const [code, count] of this.#warned) {
        if (count <= this.#tickersShown) continue;
        const more = count - this.#tickersShown;
        this.#line({}, () => `warning: ${code}: ${counted(more, "more ticker")}, all listed in the output`);
      }
    }
    this.#warned.clear();
    this.#startedStages.clear();
    this.#firstProgress.clear();
    this.#clearBar();
  }

  #clearBar(): void {
    if (this.#barShown) this.#options.stream.write("\r\x1b[K");
    this.#barShown = false;
  }

  #progress(event: Progress): void {
    const now = performance.now();
    const isFirst = !this.#startedStages.has(event.stage);
    this.#startedStages.add(event.stage);
    const first = this.#firstProgress.get(event.stage);
    if (first === undefined && event.done > 0)
      this.#firstProgress.set(event.stage, { at: now, done: event.done });
    const ended = event.total !== undefined && event.done >= event.total;
    const asBar = this.#options.stream.isTTY && this.#options.format === "text";
    const pause = asBar ? MILLISECONDS_BETWEEN.bar : MILLISECONDS_BETWEEN.line;
    const isOnRecord = this.#options.format === "json" && event.epoch !== undefined;
    if (!isFirst && !ended && !isOnRecord && now - this.#lastWritten < pause) return;
    this.#lastWritten = now;
    const eta = etaSeconds(event, first, now, this.#options.workers ?? 1);
    if (asBar) this.#drawBar(event, eta);
    else this.#line({ level: "info", ...event, eta_seconds: eta }, () => progressLine(event, eta));
  }

  #drawBar(event: Progress, eta: number | undefined): void {
    const share = event.total ? Math.min(1, event.done / event.total) : 0;
    const filled = Math.round(share * BAR_CELLS);
    const bar = "█".repeat(filled) + "░".repeat(BAR_CELLS - filled);
    this.#options.stream.write(
      `\r\x1b[K${LABELS[event.stage].padEnd(10)} ${bar} ${amount(event)}${whose(event, event.ticker?.slice(0, TICKER_CELLS))}${etaText(eta)}`,
    );
    this.#barShown = true;
  }

  #line(record: Record<string, unknown>, text: () => string): void {
    this.#clearBar();
    const line =
      this.#options.format === "json"
        ? printable(JSON.stringify({ time: new Date().toISOString(), ...record }))
        : text();
    this.#options.stream.write(`${withoutSignature(line)}\n`);
  }
}

/**
 * Remaining seconds at the pace since the first unit was done: what came before, such as the import of the libraries, does not
 * recur. Undefined until each worker has since done a unit, and if the total is unknown.
 */
function etaSeconds(
  { done, total }: { done: number; total?: number },
  first: FirstProgress | undefined,
  now: number,
  workers: number,
): number | undefined {
  if (total === undefined) return undefined;
  if (done >= total) return 0;
  const since = first === undefined ? 0 : done - first.done;
  if (first === undefined || since < workers) return undefined;
  return Math.round((((total - done) / since) * (now - first.at)) / 1_000);
}

function progressLine(event: Progress, eta: number | undefined): string {
  return `${LABELS[event.stage]}: ${amount(event)}${epochText(event)}${etaText(eta)}`;
}

/** The network that finished an epoch, and that epoch's losses. */
function epochText(event: Progress): string {
  if (event.epoch === undefined) return "";
  const loss = (value: number | undefined) => value?.toPrecision(4) ?? "-";
  const { train_loss, validation_loss } = event;
  return `${whose(event, event.ticker)}: loss ${loss(train_loss)}, validation ${loss(validation_loss)}`;
}

/** A ticker longer than this would wrap the bar. */
const TICKER_CELLS = 12;

function whose({ epoch, member }: Progress, ticker = ""): string {
  if (epoch === undefined) return "";
  return printable(`, ${ticker}${member === undefined ? "" : ` member ${member}`} epoch ${epoch}`);
}

function amount(event: Progress): string {
  const unit = event.stage === "read" ? (n: number) => `${(n / 1e6).toFixed(1)} MB` : String;
  return event.total === undefined ? unit(event.done) : `${unit(event.done)} of ${unit(event.total)}`;
}

function etaText(eta: number | undefined): string {
  return eta === undefined || eta <= 0 ? "" : `, ${eta} s left`;
}

/** Writes an error to stderr; stdout stays empty. @returns the exit code of its kind. */
export function explain(error: unknown, reporter: Reporter): number {
  const problem = problemOf(error);
  reporter.finish();
  reporter.write({ level: "error", ...problem }, problemText(problem));
  if (!(error instanceof MucastError) && error instanceof Error) {
    reporter.write({ level: "error", stack: error.stack }, String(error.stack));
  }
  return error instanceof MucastError ? (error.entry.exit ?? 1) : 1;
}

/** Parameters of a model that an error names, of more those nearest to the unknown one. */
const MAX_ACCEPTED_SHOWN = 8;

function problemText(problem: Problem): string {
  const lines = [`error: ${problem.code}: ${problem.title}`];
  const faults = (problem.faults ?? []) as readonly Fault[];
  lines.push(...(faults.length > 0 ? faults.map(faultLine) : [problem.detail]).map(indented));
  // The sentence of unknown_model already lists its few names.
  if (problem.code === "invalid_model_params" && Array.isArray(problem.accepted)) {
    const more = problem.accepted.length - MAX_ACCEPTED_SHOWN;
    const near = byNearness(String(problem.path?.split(".").at(-1)), problem.accepted);
    const shown = more > 0 ? near.slice(0, MAX_ACCEPTED_SHOWN) : problem.accepted;
    lines.push(`  accepted: ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`);
  }
  const failures = problem.failures as
    | readonly { ticker: string; code: string; message: string }[]
    | undefined;
  for (const failure of failures ?? []) lines.push(indented(`${failure.code}: ${namedFailure(failure)}`));
  const counts = Object.entries((problem.failure_counts ?? {}) as CodeCounts);
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  if (all > (failures?.length ?? 0)) {
    const byCode = counts.map(([code, count]) => `${count} ${code}`).join(", ");
    lines.push(indented(`all ${all} failed tickers by code: ${byCode}`));
  }
  lines.push(`  ${problem.advice}`);
  return lines.join("\n");
}

/** A tool's text may have several lines; all are indented, unlike ours. */
function indented(text: string): string {
  return text
    .split("\n")
    .map((line, i) => `${i === 0 ? "  " : "    "}${printable(line)}`)
    .join("\n");
}
