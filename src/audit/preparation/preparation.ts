import { counted } from "../../contract/errors/wording.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { finiteOrNull } from "../../evaluate/statistics.ts";
import {
  type AuditCheck,
  type AuditContext,
  type CheckResult,
  type Finding,
  notRun,
  ranCheck,
} from "../check.ts";
import { finding } from "../findings.ts";
import { type ChangedValue, comparePrepared } from "./compare-prepared.ts";
import type { PreparedPrices } from "./prepared-prices.ts";

/**
 * Cuts the price CSV after dates and prepares the rest: prices and features dated up to such a date must be bit for bit those of the
 * whole CSV. Only one cut is on disk at a time.
 */
export const preparation: AuditCheck = {
  name: "preparation",
  cost: ({ truncations, csv }) =>
    csv === undefined
      ? "nothing without a price CSV"
      : `${counted(truncations + 1, "preparation")} of the price CSV; the blobs are read after each`,
  run: async ({ truncations }, context) =>
    context.prepared === undefined
      ? notRun("no price CSV was given (--prices)")
      : await compareCuts(context.prepared, truncations, context),
};

async function compareCuts(
  prepared: PreparedPrices,
  truncations: number,
  context: AuditContext,
): Promise<CheckResult> {
  const whole = await prepared.whole();
  const prices = await prepared.read();
  const plan = await prepared.plan(prices, truncations);
  if (plan === undefined) return notRun("the prices have too few dates for a cut");
  const { cutAfter } = plan;
  context.onStep?.(1, cutAfter.length + 1);
  const changed = new ChangedColumns();
  let tests = 0;
  for (const [i, day] of cutAfter.entries()) {
    await prepared.withCut(day, prices, async (cut) => {
      tests += await comparePrepared(whole, cut, day, context, changed.add.bind(changed, day));
    });
    context.onStep?.(i + 2, cutAfter.length + 1);
  }
  return ranCheck({
    tests,
    findings: changed.findings(),
    facts: {
      cut_after: cutAfter.map(formatDay),
      tickers: whole.tickers.length,
      dates: whole.dates,
      features: whole.features.length,
    },
  });
}

/** Tickers that a finding names. */
const MAX_EXAMPLES = 5;

/** The changes of one column over all cuts. */
interface ChangedColumn {
  readonly first: ChangedValue;
  /** The last date of the CSV in the first change. */
  readonly cutAfter: string;
  values: number;
  readonly tickers: Set<string>;
  readonly cuts: Set<string>;
  largest: number | undefined;
}

/** Collects changed values by feature: one finding each, whatever their number. */
class ChangedColumns {
  readonly #columns = new Map<string, ChangedColumn>();

  add(cut: Day, change: ChangedValue): void {
    const cutAfter = formatDay(cut);
    let column = this.#columns.get(change.column);
    if (column === undefined) {
      column = {
        first: change,
        cutAfter,
        values: 0,
        tickers: new Set(),
        cuts: new Set(),
        largest: undefined,
      };
      this.#columns.set(change.column, column);
    }
    column.values++;
    column.tickers.add(change.ticker);
    column.cuts.add(cutAfter);
    const size = Math.abs(change.whole - change.cut);
    if (!Number.isNaN(size)) column.largest = Math.max(column.largest ?? 0, size);
  }

  findings(): Finding[] {
    return [...this.#columns.values()].map(findingOf);
  }
}

function findingOf({ first, cutAfter, values, tickers, cuts, largest }: ChangedColumn): Finding {
  const { ticker, column, whole, cut } = first;
  const date = formatDay(first.day);
  return finding("prepared_value_changed", {
    ...(column === "price" ? {} : { feature: column }),
    ...(tickers.size === 1 ? { ticker } : {}),
    message:
      `${column}: ${counted(values, "value")} of ${counted(tickers.size, "ticker")} differ where the CSV ends with ${cutAfter}; ` +
      `the first is ${ticker} on ${date}: ${finiteOrNull(whole)} of the whole CSV, ${finiteOrNull(cut)} of the shortened one`,
    evidence: {
      date,
      whole: finiteOrNull(whole),
      cut: finiteOrNull(cut),
      values,
      tickers: tickers.size,
      examples: [...tickers].slice(0, MAX_EXAMPLES),
      cut_after: [...cuts],
      ...(largest === undefined ? {} : { largest_difference: largest }),
    },
  });
}
