import { withoutSignature } from "../../blob/policy.ts";
import { type Fault, MucastError } from "../../contract/errors/errors.ts";
import { faultLine } from "../../contract/errors/faults.ts";
import { byNearness } from "../../contract/errors/nearest-name.ts";
import { counted, printable } from "../../contract/errors/wording.ts";
import type { Progress, Report, Stage } from "../../contract/output/job-events.ts";
import { namedFailure, problemOf } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";

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

/** Of the stages that their progress calls otherwise. */
const LABELS: Partial<Record<Stage, string>> = {
  read: "reading",
  fit: "fitting",
  evaluate: "evaluating",
  write: "writing",
};
const MILLISECONDS_BETWEEN = { bar: 80, line: 2_000 };
const BAR_CELLS = 24;
/** A ticker longer than this would wrap the bar. */
const TICKER_CELLS = 12;

/** Writes a job's events to stderr: a bar with ETA on a terminal, lines elsewhere, JSON objects with `--log json`. */
export class Reporter {
  readonly #options: ReporterOptions;
  /** By stage: when its first unit was done, and how many were done then. */
  readonly #began = new Map<Stage, { at: number; done: number } | undefined>();
  readonly #warned = new Map<string, number>();
  #lastWritten = Number.NEGATIVE_INFINITY;
  #barShown = false;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  readonly report: Report = (event) => {
    // The table of the output contains the summary.
    if (event.kind === "progress" && !this.#options.quiet) this.#progress(event);
    if (event.kind === "warning") this.warn(event.warning);
    if (event.kind === "failure") {
      const { ticker, code, message } = event.failure;
      const text = printable(`failed: ${code}: ${namedFailure({ ticker, message })}`);
      this.write({ level: "failure", ticker, code, message }, text);
    }
  };

  /** A text stream shows a warning for the first tickers, and the number of the others at the end. */
  warn(warning: Warning): void {
    const { format, tickersShown = Number.POSITIVE_INFINITY } = this.#options;
    const shown = (this.#warned.get(warning.code) ?? 0) + 1;
    this.#warned.set(warning.code, shown);
    if (format === "text" && warning.ticker !== undefined && shown > tickersShown) return;
    const text = printable(`warning: ${warning.code}: ${warning.message}`);
    this.write({ level: "warning", ...warning }, text);
  }

  /**
   * Does what follows a job that has already succeeded: a warning says why it failed.
   * @throws what the signal throws.
   */
  async warnIfFails(failed: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      signal.throwIfAborted();
      const { code, detail } = problemOf(error);
      const message = `${failed}: ${detail}`;
      this.write({ level: "warning", code, message }, printable(`warning: ${code}: ${message}`));
    }
  }

  /** Writes a line: `record` with `--log json`, otherwise `text`. */
  write(record: Record<string, unknown>, text: string): void {
    this.#clearBar();
    const { format, stream } = this.#options;
    const json = () => printable(JSON.stringify({ time: new Date().toISOString(), ...record }));
    stream.write(`${withoutSignature(format === "json" ? json() : text)}\n`);
  }

  /** Ends the reporting of a job: writes the number of warnings that were not shown. Another job may follow. */
  finish(): void {
    const { format, tickersShown = Number.POSITIVE_INFINITY } = this.#options;
    for (const [code, count] of format === "text" ? this.#warned : []) {
      const more = count - tickersShown;
      if (more > 0)
        this.write(
          {},
          `warning: ${code}: ${counted(more, "more ticker")}, all in the output and with --log json`,
        );
    }
    this.#warned.clear();
    this.#began.clear();
    this.#clearBar();
  }

  #clearBar(): void {
    if (this.#barShown) this.#options.stream.write("\r\x1b[K");
    this.#barShown = false;
  }

  #progress(event: Progress): void {
    const { format, stream } = this.#options;
    const now = performance.now();
    const { stage, done, total, epoch } = event;
    const isFirst = !this.#began.has(stage);
    const began = this.#began.get(stage) ?? (done > 0 ? { at: now, done } : undefined);
    this.#began.set(stage, began);
    const hasEnded = total !== undefined && done >= total;
    const asBar = stream.isTTY && format === "text";
    const pause = asBar ? MILLISECONDS_BETWEEN.bar : MILLISECONDS_BETWEEN.line;
    const isOnRecord = format === "json" && epoch !== undefined;
    if (!isFirst && !hasEnded && !isOnRecord && now - this.#lastWritten < pause) return;
    this.#lastWritten = now;
    const eta = hasEnded ? 0 : this.#secondsLeft(event, began, now);
    const left = eta ? `, ${eta} s left` : "";
    const label = LABELS[stage] ?? stage;
    if (!asBar) {
      this.write(
        { level: "info", ...event, eta_seconds: eta },
        `${label}: ${amount(event)}${epochText(event)}${left}`,
      );
      return;
    }
    const filled = total ? Math.round(Math.min(1, done / total) * BAR_CELLS) : 0;
    const bar = "█".repeat(filled) + "░".repeat(BAR_CELLS - filled);
    const whose = networkText(event, event.ticker?.slice(0, TICKER_CELLS));
    stream.write(`\r\x1b[K${label.padEnd(10)} ${bar} ${amount(event)}${whose}${left}`);
    this.#barShown = true;
  }

  /**
   * At the pace since the first unit was done: what came before, such as the import of the libraries, does not recur. Undefined until each
   * worker has since done a unit, and if the total is unknown.
   */
  #secondsLeft({ done, total }: Progress, began: { at: number; done: number } | undefined, now: number) {
    const since = began === undefined ? 0 : done - began.done;
    if (total === undefined || since < (this.#options.workers ?? 1)) return undefined;
    return Math.round((((total - done) / since) * (now - began!.at)) / 1_000);
  }
}

function amount({ stage, done, total }: Progress): string {
  const unit = stage === "read" ? (n: number) => `${(n / 1e6).toFixed(1)} MB` : String;
  return total === undefined ? unit(done) : `${unit(done)} of ${unit(total)}`;
}

/** The network that has finished an epoch. */
function networkText({ epoch, member }: Progress, ticker = ""): string {
  if (epoch === undefined) return "";
  return printable(`, ${ticker}${member === undefined ? "" : ` member ${member}`} epoch ${epoch}`);
}

function epochText(event: Progress): string {
  if (event.epoch === undefined) return "";
  const [train, validation] = [event.train_loss, event.validation_loss].map(
    (loss) => loss?.toPrecision(4) ?? "-",
  );
  return `${networkText(event, event.ticker)}: loss ${train}, validation ${validation}`;
}

/** Parameters of a model that an error names, of more those nearest to the unknown one. */
const MAX_ACCEPTED_SHOWN = 8;

/** Writes an error to stderr; stdout stays empty. @returns the exit code of its kind. */
export function explain(error: unknown, reporter: Reporter): number {
  const problem = problemOf(error);
  const { code, title, detail, advice, path, accepted = [], failures = [], failure_counts = {} } = problem;
  const faults = (problem.faults ?? []) as readonly Fault[];
  const lines = faults.length > 0 ? faults.map(faultLine) : [detail];
  // The sentence of unknown_model already lists its few names.
  if (code === "invalid_model_params" && accepted.length > 0) {
    const more = accepted.length - MAX_ACCEPTED_SHOWN;
    const near = byNearness(String(path?.split(".").at(-1)), accepted);
    const shown = more > 0 ? near.slice(0, MAX_ACCEPTED_SHOWN) : accepted;
    lines.push(`accepted: ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`);
  }
  lines.push(...failures.map((failure) => `${failure.code}: ${namedFailure(failure)}`));
  const counts = Object.entries(failure_counts);
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  if (all > failures.length) {
    const byCode = counts.map(([name, count]) => `${count} ${name}`).join(", ");
    lines.push(`all ${all} failed tickers by code: ${byCode}`);
  }
  reporter.finish();
  const text = [`error: ${code}: ${title}`, ...lines.map(indented), `  ${advice}`].join("\n");
  reporter.write({ level: "error", ...problem }, text);
  if (error instanceof MucastError) return error.entry.exit ?? 1;
  if (error instanceof Error) reporter.write({ level: "error", stack: error.stack }, String(error.stack));
  return 1;
}

/** A tool's text may have several lines; all are indented, unlike ours. */
function indented(text: string): string {
  return `  ${text.split("\n").map(printable).join("\n    ")}`;
}
