import { MucastError } from "../../contract/errors/errors.ts";
import { formatDay } from "../../contract/market/dates.ts";
import type { Verdict } from "../../contract/output/verdict.ts";
import { laterSentence } from "../../evaluate/verdict/later-sentence.ts";
import { withWarning } from "../../evaluate/verdict/verdict.ts";
import { requireOneDelay } from "../../outputs/output-summary.ts";
import { outOfFoldVerdict, scoreVerdict } from "../../outputs/output-verdict.ts";
import type { ScoredRows } from "../../outputs/scored-rows.ts";
import type { CheckVerdicts } from "./check-verdicts.ts";
import {
  JUDGED_ROWS,
  type OutputEvidence,
  onOutOfFoldRows,
  rowEvidence,
  withLabels,
} from "./output-evidence.ts";
import { type PairedDifferences, pairedDifferences } from "./paired-differences.ts";

export interface CheckedOutput extends CheckVerdicts {
  readonly evidence: OutputEvidence;
}

export interface Report {
  readonly title: string;
  /** In the given order. */
  readonly outputs: readonly ReportedOutput[];
  /** The outputs against each other; only with several outputs. */
  readonly differences?: PairedDifferences;
}

export interface ReportedOutput extends CheckVerdicts {
  /** The name of the model, such as `lightgbm`; outputs with the same model get a number. */
  readonly name: string;
  /** The output on all its rows. */
  readonly whole: OutputEvidence;
  /** The output on the rows that all outputs of the report have; without labelled score rows, on out-of-fold rows. */
  readonly common: OutputEvidence;
  /** The output on its out-of-fold rows, if it has those and labelled score rows; only with one output. */
  readonly outOfFold?: OutputEvidence;
}

/**
 * Puts outputs side by side on the rows that all of them have.
 * @param outputs at least one.
 * @throws MucastError invalid_data if outputs come from different prices or have different delays.
 */
export function reportOf(outputs: readonly CheckedOutput[]): Report {
  const whole = outputs.map(({ evidence }) => evidence);
  requireOneDelay(whole.map(({ source, document }) => ({ name: source, delay: document.window.delay ?? 0 })));
  const names = distinctNames(whole.map(({ modelName }) => modelName));
  const title = `Forecasts of ${names.join(", ")}`;
  const reported = outputs.map(({ evidence, replay, audit }, i): ReportedOutput => {
    return { name: names[i]!, whole: evidence, common: evidence, replay, audit };
  });
  if (outputs.length === 1) {
    return { title, outputs: reported.map(alone) };
  }
  const common = onCommonRows(whole);
  return {
    title,
    outputs: reported.map((output, i) => ({ ...output, common: common[i]! })),
    differences: pairedDifferences(common.map(({ labelled }) => labelled)),
  };
}

/** A single output on its own rows, and beside its score rows on its out-of-fold rows. */
function alone(output: ReportedOutput): ReportedOutput {
  const common = withLabels(output.whole);
  const outOfFold = common.judgedRows === "score" ? onOutOfFoldRows(output.whole) : undefined;
  return { ...output, common, ...(outOfFold && common.dateCount > 0 ? { outOfFold } : {}) };
}

export function stateOf({ common }: ReportedOutput): Verdict["state"] {
  return common.verdict?.state ?? "too_few";
}

/** Outputs with the same model get their position as a number. */
function distinctNames(names: readonly string[]): string[] {
  return names.map((name, i) =>
    names.filter((other) => other === name).length === 1 ? name : `${name} (${i + 1})`,
  );
}

/** Labels that differ by less come from the same prices. */
const SAME_LABEL = 1e-9;

/**
 * The same outputs on the rows, by ticker and date, that all of them have: on out-of-fold rows if no output has a labelled score row and
 * each has out-of-fold rows.
 * @throws MucastError invalid_data if two outputs have different returns for one row, because they come from different prices.
 */
function onCommonRows(outputs: readonly OutputEvidence[]): OutputEvidence[] {
  if (outputs.some(({ dateCount }) => dateCount > 0)) return sharedRows(outputs);
  const tested = outputs.flatMap((output) => onOutOfFoldRows(output) ?? []);
  return sharedRows(tested.length === outputs.length ? tested : outputs);
}

/** @throws MucastError invalid_data for different returns of one row. */
function sharedRows(outputs: readonly OutputEvidence[]): OutputEvidence[] {
  const byTicker = outputs.map(({ rows }) => new Map(rows.map((row) => [row.ticker, row])));
  const kept: ScoredRows[][] = outputs.map(() => []);
  for (const { ticker } of outputs[0]!.rows) {
    const found = byTicker.flatMap((rows) => rows.get(ticker) ?? []);
    if (found.length < outputs.length) continue;
    const days = found.map((row) => row.days).reduce(intersection);
    if (days.length === 0) continue;
    const rows = found.map((row) => onDays(row, days));
    for (const [k, row] of rows.entries()) {
      checkLabels([outputs[0]!.source, rows[0]!], [outputs[k]!.source, row]);
      kept[k]!.push(row);
    }
  }
  return outputs.map((output, k) => {
    // A label that one output does not know yet counts for none of them.
    const rows = kept[k]!.map((row, at) =>
      withLabelsOf(
        row,
        kept.map((others) => others[at]!),
      ),
    );
    const { document, judgedRows } = output;
    const isScored = judgedRows === "score";
    const verdict = isScored ? scoreVerdict(document, rows) : outOfFoldVerdict(document, rows);
    return {
      ...output,
      ...rowEvidence(rows, isScored ? document.metrics.intervals?.alpha : undefined),
      // Outputs side by side are judged on the same rows.
      verdict: withLater(withWarning(verdict, document.warnings), document, judgedRows),
    };
  });
}

/** With the job's figures at a later close, which are not those of the common rows. */
function withLater(
  verdict: Verdict,
  { metrics, mu_model }: OutputEvidence["document"],
  rows: OutputEvidence["judgedRows"],
): Verdict {
  const { score, out_of_fold } = metrics;
  const orders = { score: score.by_delay, out_of_fold: out_of_fold?.by_delay };
  const later = laterSentence({ ...orders, isOfModel: mu_model !== undefined }, rows);
  return later === undefined
    ? verdict
    : { ...verdict, later: `${later} These figures are over all ${JUDGED_ROWS[rows]} of the output.` };
}

function intersection(a: Int32Array, b: Int32Array): Int32Array {
  const other = new Set(b);
  return a.filter((day) => other.has(day));
}

/** @param days ascending; the row has all of them. */
function onDays(row: ScoredRows, days: Int32Array): ScoredRows {
  let at = 0;
  const places = Int32Array.from(days, (day) => {
    while (row.days[at] !== day) at++;
    return at;
  });
  const taken = (values: Float64Array) => Float64Array.from(places, (place) => values[place]!);
  return {
    ...row,
    days,
    predicted: taken(row.predicted),
    realised: taken(row.realised),
    lower: taken(row.lower),
    upper: taken(row.upper),
    trainingMean: taken(row.trainingMean),
    ...(row.ranked && { ranked: taken(row.ranked) }),
  };
}

function withLabelsOf(row: ScoredRows, all: readonly ScoredRows[]): ScoredRows {
  const isKnown = (i: number) => all.every(({ realised }) => !Number.isNaN(realised[i]!));
  return { ...row, realised: row.realised.map((label, i) => (isKnown(i) ? label : Number.NaN)) };
}

function checkLabels(
  [firstName, first]: readonly [string, ScoredRows],
  [name, row]: readonly [string, ScoredRows],
): void {
  for (const [i, label] of row.realised.entries()) {
    const other = first.realised[i]!;
    if (!(Math.abs(label - other) > SAME_LABEL)) continue;
    const place = `${row.ticker} on ${formatDay(row.days[i]!)}`;
    const message = `${firstName} and ${name} cannot be compared: the return of ${place} is ${other} in ${firstName} and ${label} in ${name}, so the outputs were made from different prices`;
    throw new MucastError("invalid_data", message, { source: name, ticker: row.ticker, value: label });
  }
}
