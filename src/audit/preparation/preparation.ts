import { counted } from "../../contract/errors/wording.ts";
import { formatDay } from "../../contract/market/dates.ts";
import { type AuditCheck, type AuditContext, type CheckResult, notRun, ranCheck } from "../check.ts";
import { ChangedColumns } from "./changed-columns.ts";
import { comparePrepared } from "./compare-prepared.ts";
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
      : `${counted(truncations + 1, "preparation")} of the price CSV, and as many readings of the blobs`,
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
  if (plan === undefined) return notRun("the prices have too few dates to cut one off");
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
