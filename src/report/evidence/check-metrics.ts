import { MucastError } from "../../contract/errors/errors.ts";
import { formatDay, parseDay } from "../../contract/market/dates.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import { delayedOrders } from "../../evaluate/delayed-order.ts";
import { asRanked, type ForecastRows, labelled } from "../../evaluate/forecast-rows.ts";
import { forecastTable, tableRows } from "../../evaluate/forecast-table.ts";
import { withLevels } from "../../evaluate/levels.ts";
import { dateT } from "../../evaluate/mean-test.ts";
import { shrinkageTable } from "../../evaluate/shrinkage.ts";
import { finiteOrNull, mean } from "../../evaluate/statistics.ts";
import { sizeTests } from "../../evaluate/verdict/sizes.ts";
import { headlined, withWarning } from "../../evaluate/verdict/verdict.ts";
import type { OutputDocument } from "../../outputs/open-document.ts";
import { type OutputEvidence, outputEvidence } from "./output-evidence.ts";

/** Numbers that differ by less than this are equal up to rounding: relative, and absolute near 0. */
const RELATIVE = 1e-9;
const ABSOLUTE = 1e-12;

/** Members that forecasts do not determine: they need returns before a row, residuals before the cut, or what models had learned. */
const NOT_COMPUTABLE = /^(high_volatility|by_volatility|prequential|r2_mean|order_mean|order_t)$/;

/**
 * The evidence that an output provides, once its metrics, its mu and the figures of its verdict equal those that its own forecasts give
 * by the code of the job. What the output lacks, because an older version wrote it, is not compared.
 * @throws MucastError invalid_data with the name of the first figure that differs, and both values.
 */
export function checkedEvidence(output: OutputDocument): OutputEvidence {
  const evidence = outputEvidence(output);
  const { source, document, rows, table, coverage, outOfFold } = evidence;
  const { metrics, verdict, mu, window } = document;
  const check = (path: string, recorded: unknown, computed: unknown) =>
    compare(source, path, recorded, computed);
  const last = new Map(rows.map((row) => [row.ticker, row]));
  for (const [ticker, value] of Object.entries(mu))
    check(`mu.${ticker}`, value, last.get(ticker)?.predicted.at(-1) ?? null);
  for (const { ticker, days } of rows) {
    if (days.length > 0 && formatDay(days.at(-1)!) === window.as_of && !Object.hasOwn(mu, ticker))
      throw refusal(source, "mu", `${ticker} has a forecast of ${window.as_of}, but no mu`);
  }
  check("metrics.score", metrics.score, table);
  if (coverage !== undefined) check("metrics.intervals", metrics.intervals, coverage);
  checkSet(evidence, "score", rows, evidence.dates.ic);
  if (outOfFold !== undefined) {
    const ics: number[] = [];
    const tested = forecastTable(tableRows(outOfFold), undefined, (_, { ic }, tickers) => {
      if (tickers >= MIN_ORDER_TICKERS) ics.push(ic);
    });
    check("metrics.out_of_fold", metrics.out_of_fold, tested);
    check("cross_validation", document.cross_validation, tested.by_ticker);
    checkSet(evidence, "out_of_fold", outOfFold, Float64Array.from(ics));
    const spans = metrics.shrinkage?.levels?.held_out;
    const levels = spans?.map(({ start, level }) => ({ from: parseDay(start)!, level })) ?? [];
    const { by_date, ...slopes } = shrinkageTable(outOfFold.map((row) => withLevels(row, levels)));
    check("metrics.shrinkage", metrics.shrinkage, spans === undefined ? slopes : { ...slopes, by_date });
  }
  if (verdict !== undefined && verdict.judged.length > 0) {
    const { state, rows: on } = withWarning(headlined(verdict.judged), document.warnings);
    check("verdict", verdict, { state, rows: on });
  }
  return evidence;
}

/** Checks what the order of rows is worth by the close, and the figures that the verdict has on them. @param ics by date. */
function checkSet(
  { source, document: { metrics, model, verdict } }: OutputEvidence,
  name: "score" | "out_of_fold",
  rows: readonly ForecastRows[],
  ics: Float64Array,
): void {
  const orders = metrics[name]?.by_delay;
  // Outputs of 0.2.0 have no forecasts before shrinkage.
  const isKnown = name !== "score" || model.shrinkage !== "pooled" || rows.every(({ ranked }) => ranked);
  if (orders?.[0] !== undefined && isKnown)
    compare(source, `metrics.${name}.by_delay`, orders, delayedOrders(rows.map(asRanked), orders[0].delay));
  const place = verdict?.judged.findIndex((set) => set.rows === name) ?? -1;
  const recorded = verdict?.judged[place];
  if (recorded === undefined) return;
  // Findings of 0.2.0 name no method and have other errors.
  const hasT = recorded.order.method !== undefined;
  const order = {
    ...{ dates: ics.length, figure: finiteOrNull(mean(ics)) },
    ...(hasT && { t: finiteOrNull(dateT(ics, 1)) }),
  };
  const { dates, zero } = sizeTests(rows.map(labelled));
  const against = { r2: zero.r2, ...(hasT && { squared_error_t: finiteOrNull(zero.squaredError) }) };
  compare(source, `verdict.judged.${place}`, recorded, {
    ...(recorded.order.form === "cross_section" && { order }),
    sizes: { dates, against: { zero: against } },
  });
}

/** @param recorded undefined if the output does not have it. @param computed an object, a Map of objects, or one value. */
function compare(source: string, path: string, recorded: unknown, computed: unknown): void {
  if (recorded === undefined) return;
  if (typeof computed !== "object" || computed === null) {
    if (isSame(recorded, computed)) return;
    const values = `is ${JSON.stringify(recorded)}, but its forecasts give ${JSON.stringify(computed)}`;
    throw refusal(source, path, `its ${path} ${values}`, { value: recorded, computed });
  }
  const members = computed instanceof Map ? computed : new Map(Object.entries(computed));
  const found = recorded as Readonly<Record<string, unknown>>;
  if (computed instanceof Map) {
    for (const name of new Set([...Object.keys(found), ...members.keys()])) {
      if (members.has(name) && Object.hasOwn(found, name)) continue;
      const what = members.has(name) ? "forecasts, but no figures" : "figures, but no forecasts";
      throw refusal(source, path, `${name} in ${path} has ${what}`);
    }
  }
  for (const [name, value] of members) {
    if (!NOT_COMPUTABLE.test(name))
      compare(source, `${path}.${name}`, Object.hasOwn(found, name) ? found[name] : undefined, value);
  }
}

function isSame(recorded: unknown, computed: unknown): boolean {
  if (typeof recorded !== "number" || typeof computed !== "number") return recorded === computed;
  const distance = Math.abs(recorded - computed);
  return distance <= Math.max(ABSOLUTE, RELATIVE * Math.max(Math.abs(recorded), Math.abs(computed)));
}

function refusal(source: string, path: string, what: string, more: object = {}): MucastError {
  return new MucastError("invalid_data", `${source} cannot be reported: ${what}`, { source, path, ...more });
}
