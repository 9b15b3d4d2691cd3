import { MucastError } from "../../contract/errors/errors.ts";
import { formatDay, parseDay } from "../../contract/market/dates.ts";
import type { JudgedRows, RowsVerdict } from "../../contract/output/verdict.ts";
import { MUCAST_COMMIT, MUCAST_VERSION } from "../../contract/version.ts";
import { delayedOrders } from "../../evaluate/delayed-order.ts";
import type { ForecastRows } from "../../evaluate/forecast-rows.ts";
import { forecastTable, tableRows } from "../../evaluate/forecast-table.ts";
import { withLevels } from "../../evaluate/levels.ts";
import { shrinkageTable } from "../../evaluate/shrinkage.ts";
import { headlined, verdictOf, withWarning } from "../../evaluate/verdict/verdict.ts";
import type { OutputDocument } from "../../outputs/open-document.ts";
import type { OutputSummary } from "../../outputs/output-summary.ts";
import { scoreVerdict } from "../../outputs/output-verdict.ts";
import type { ScoredRows } from "../../outputs/scored-rows.ts";
import { type OutputEvidence, outputEvidence } from "./output-evidence.ts";

/** Numbers that differ by less than this are equal up to rounding: relative, and absolute near 0. */
const RELATIVE = 1e-9;
const ABSOLUTE = 1e-12;

/**
 * Members that forecasts alone do not determine: they need returns before a row, residuals before the cut, labels of fit rows, or means
 * that folds had learned.
 */
const NOT_COMPUTABLE = new Set(["high_volatility", "by_volatility", "prequential", "order_mean", "order_t"]);
/** Another version or commit may word the same findings differently. */
const NOT_COMPARED_BETWEEN_BUILDS = new Set([...NOT_COMPUTABLE, "title", "sentence"]);
/** Outputs of 0.2.0 and before have no levels, and another error and factor by dates. */
const NOT_COMPUTABLE_WITHOUT_LEVELS = new Set(["by_date"]);
const NOT_COMPUTABLE_WITHOUT_MEANS = new Set(["r2_mean"]);

/**
 * The evidence that an output provides.
 * @throws MucastError invalid_data if its metrics do not match its forecasts.
 */
export function checkedEvidence(document: OutputDocument): OutputEvidence {
  const evidence = outputEvidence(document);
  checkMetrics(evidence);
  return evidence;
}

/**
 * Computes the metrics of an output again from its own forecasts, with the same code as the job. Metrics that the output lacks, for
 * example because an older version wrote it, are not compared.
 * @throws MucastError invalid_data with the name of the first metric that differs, and both values.
 */
function checkMetrics(evidence: OutputEvidence): void {
  const { source, document, table, zeroTable, meanTable, outOfFold, coverage } = evidence;
  const { metrics } = document;
  const skipped = meanTable === undefined ? NOT_COMPUTABLE_WITHOUT_MEANS : NOT_COMPUTABLE;
  const comparison = new Comparison(source);
  checkMu(evidence, comparison);
  comparison.check("metrics.score", metrics.score, table, skipped);
  comparison.check("metrics.baselines.zero.score", metrics.baselines.zero.score, zeroTable, skipped);
  if (meanTable !== undefined) {
    comparison.check("metrics.baselines.mean.score", metrics.baselines.mean.score, meanTable, NOT_COMPUTABLE);
  }
  if (coverage !== undefined)
    comparison.check("metrics.intervals", metrics.intervals, coverage, NOT_COMPUTABLE);
  // Shrinkage may hide the models' own order.
  if (metrics.shrinkage?.applied === undefined) checkOrders("score", evidence, evidence.rows, comparison);
  if (outOfFold !== undefined) checkOutOfFold(evidence, outOfFold, comparison);
  checkVerdict(evidence, comparison);
}

function checkOutOfFold(
  evidence: OutputEvidence,
  outOfFold: readonly ForecastRows[],
  comparison: Comparison,
): void {
  const { document } = evidence;
  const { metrics } = document;
  checkOrders("out_of_fold", evidence, outOfFold, comparison);
  const tested = forecastTable(tableRows(outOfFold));
  const skipped = outOfFold.every(isKnown) ? NOT_COMPUTABLE : NOT_COMPUTABLE_WITHOUT_MEANS;
  comparison.check("metrics.out_of_fold", metrics.out_of_fold, tested, skipped);
  comparison.check("cross_validation", document.cross_validation, tested.by_ticker, skipped);
  const spans = metrics.shrinkage?.levels?.held_out;
  const levels = spans?.map(({ start, level }) => ({ from: parseDay(start)!, level })) ?? [];
  const shrinkage = shrinkageTable(outOfFold.map((rows) => withLevels(rows, levels)));
  const withoutLevels = spans === undefined ? NOT_COMPUTABLE_WITHOUT_LEVELS : NOT_COMPUTABLE;
  comparison.check("metrics.shrinkage", metrics.shrinkage, shrinkage, withoutLevels);
}

function checkOrders(
  name: "score" | "out_of_fold",
  { document }: OutputEvidence,
  rows: readonly ForecastRows[],
  comparison: Comparison,
): void {
  const recorded = document.metrics[name]?.by_delay;
  const [first] = recorded ?? [];
  if (first === undefined) return;
  const computed = delayedOrders(rows, first.delay);
  comparison.check(`metrics.${name}.by_delay`, recorded, computed, NOT_COMPUTABLE);
}

/**
 * Checks what the rows of the output determine of its verdict: everything or, without training means and deviations of labels, what needs
 * none of them. Findings of 0.2.0 name no method and have other errors.
 */
function checkVerdict({ document, rows, outOfFold }: OutputEvidence, comparison: Comparison): void {
  const { verdict, provenance } = document;
  if (verdict === undefined) return;
  const isSameCommit = MUCAST_COMMIT !== undefined && provenance.commit === MUCAST_COMMIT;
  const isSameBuild = provenance.versions.mucast === MUCAST_VERSION && isSameCommit;
  const skipped = isSameBuild ? NOT_COMPUTABLE : NOT_COMPARED_BETWEEN_BUILDS;
  comparison.check("verdict", verdict, headlineOf(document), skipped);
  const judged = new Map<JudgedRows, RowsVerdict>([["score", scoreVerdict(document, rows).judged[0]!]]);
  if (outOfFold !== undefined) {
    const set = { rows: "out_of_fold", forecasts: outOfFold } as const;
    judged.set(set.rows, verdictOf([set], undefined).judged[0]!);
  }
  for (const [i, recorded] of verdict.judged.entries()) {
    const anew = judged.get(recorded.rows);
    if (anew === undefined) continue;
    const place = `verdict.judged.${i}`;
    const isCurrent = recorded.order.method !== undefined;
    const isScore = recorded.rows === "score";
    const isWhole = isCurrent && (isScore ? rows : (outOfFold ?? [])).every(isKnown);
    const found = isWhole ? anew : withoutMeans(anew, isCurrent);
    // The residuals that make intervals out of fold are not recorded.
    const { intervals: _, ...outOfFoldFound } = found;
    comparison.check(place, recorded, isScore ? found : outOfFoldFound, skipped);
  }
}

function headlineOf({ verdict, warnings }: OutputEvidence["document"]): object {
  const { judged } = verdict!;
  if (judged.length === 0) return { state: null };
  const { state, rows, title, sentence } = withWarning(headlined(judged), warnings);
  return { state, rows, title, sentence };
}

function isKnown({ trainingMean, labelDeviation }: ForecastRows): boolean {
  return labelDeviation !== undefined && !trainingMean.some(Number.isNaN);
}

function withoutMeans(
  { order: { form, figure, t, dates }, sizes }: RowsVerdict,
  isCurrent: boolean,
): Partial<Record<keyof RowsVerdict, object>> {
  const { zero } = sizes.against;
  return {
    order: form === "time_series" ? { form } : { form, figure, dates, ...(isCurrent ? { t } : {}) },
    sizes: { dates: sizes.dates, against: { zero: isCurrent ? zero : { r2: zero.r2 } } },
  };
}

/** mu is the forecast of the last row, and a ticker has one if its last row has the date as_of. */
function checkMu({ document, rows }: OutputEvidence, comparison: Comparison): void {
  const last = new Map(rows.map((row) => [row.ticker, row]));
  comparison.checkHasMu(document, rows);
  for (const [ticker, mu] of Object.entries(document.mu)) {
    const row = last.get(ticker);
    comparison.check(`mu.${ticker}`, mu, row?.predicted.at(-1) ?? null, NOT_COMPUTABLE);
    const own = memberNamed(document.mu_model, ticker);
    comparison.check(`mu_model.${ticker}`, own, row?.ranked?.at(-1) ?? null, NOT_COMPUTABLE);
    const day = row?.days.at(-1);
    const date = memberNamed(document.mu_dates, ticker);
    comparison.check(`mu_dates.${ticker}`, date, day === undefined ? null : formatDay(day), NOT_COMPUTABLE);
  }
}

class Comparison {
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  /** @param recorded undefined if the output does not have it. @param computed an object, a Map of objects, or one value. */
  check(path: string, recorded: unknown, computed: unknown, skipped: ReadonlySet<string>): void {
    if (recorded === undefined) return;
    if (typeof computed !== "object" || computed === null) {
      if (!isSame(recorded, computed)) throw this.#differs(path, recorded, computed);
      return;
    }
    const members = computed instanceof Map ? [...computed] : Object.entries(computed);
    if (computed instanceof Map) this.#checkNames(path, recorded, computed);
    for (const [name, value] of members) {
      if (!skipped.has(name)) this.check(`${path}.${name}`, memberNamed(recorded, name), value, skipped);
    }
  }

  /** A job that has forecasts always writes a mu. */
  checkHasMu({ mu, window }: OutputSummary, rows: readonly ScoredRows[]): void {
    const { as_of } = window;
    const isCurrent = ({ days }: ScoredRows) => days.length > 0 && formatDay(days.at(-1)!) === as_of;
    const lacking = rows.find((row) => isCurrent(row) && !Object.hasOwn(mu, row.ticker));
    const data = { source: this.#source, path: "mu" };
    if (lacking !== undefined) {
      const { ticker } = lacking;
      const message = `${this.#source} cannot be reported: ${ticker} has a forecast of ${as_of}, but no mu`;
      throw new MucastError("invalid_data", message, { ...data, ticker });
    }
    if (rows.length === 0 || Object.keys(mu).length > 0) return;
    throw new MucastError("invalid_data", `${this.#source} cannot be reported: it has no mu`, data);
  }

  /** A table has exactly the tickers of the forecasts. */
  #checkNames(path: string, recorded: unknown, computed: ReadonlyMap<string, unknown>): void {
    const names = Object.keys(recorded as object);
    const other =
      names.find((name) => !computed.has(name)) ??
      [...computed.keys()].find((name) => !Object.hasOwn(recorded as object, name));
    if (other === undefined) return;
    const where = computed.has(other) ? "has forecasts, but no figures" : "has figures, but no forecasts";
    const message = `${this.#source} cannot be reported: ${other} in ${path} ${where}`;
    throw new MucastError("invalid_data", message, { source: this.#source, path, ticker: other });
  }

  #differs(path: string, recorded: unknown, computed: unknown): MucastError {
    const message = `${this.#source} cannot be reported: its ${path} is ${JSON.stringify(recorded)}, but its forecasts give ${JSON.stringify(computed)}`;
    return new MucastError("invalid_data", message, {
      source: this.#source,
      path,
      value: recorded,
      computed,
    });
  }
}

function isSame(recorded: unknown, computed: unknown): boolean {
  if (typeof recorded !== "number" || typeof computed !== "number") return recorded === computed;
  const distance = Math.abs(recorded - computed);
  return distance <= Math.max(ABSOLUTE, RELATIVE * Math.max(Math.abs(recorded), Math.abs(computed)));
}

function memberNamed(part: unknown, name: string): unknown {
  if (typeof part !== "object" || part === null || !Object.hasOwn(part, name)) return undefined;
  return (part as Readonly<Record<string, unknown>>)[name];
}
