import { counted } from "../../contract/errors/wording.ts";
import type { Finding } from "../check.ts";
import { type FindingCode, finding } from "../findings.ts";
import { LATE_DAYS } from "./cell-changes.ts";
import { datesOf, datesText, extent, extentText, factors, short, size, sizeText } from "./change-evidence.ts";
import type { ChangeTally, TallyKind } from "./change-tally.ts";
import type { HistoryComparison } from "./history-comparison.ts";
import { type PastReturns, tickerFindings } from "./ticker-findings.ts";

/**
 * The changes of the data-extraction blob. The histories contain only price dates, so a price that appeared or disappeared is a row.
 * @param returns of the tickers before they vanished, and of the others.
 */
export function priceFindings(prices: HistoryComparison, returns: PastReturns): Finding[] {
  const kinds = prices.features.get("price")?.kinds ?? new Map<TallyKind, ChangeTally>();
  const found = [...kinds].map(([kind, tally]) => {
    const only = tally.tickers === 1 ? { ticker: tally.examples[0] } : {};
    const evidence = { ...extent(tally), ...size(tally) };
    if (kind !== "rescaled")
      return finding("price_rewritten", {
        ...only,
        message: `${extentText(tally)} of the prices changed ${sizeText(tally)}; the labels changed with them`,
        evidence,
      });
    return finding("price_rescaled", {
      ...only,
      message: `The prices of ${counted(tally.tickers, "ticker")} were multiplied by a constant, such as ${short(tally.factors[0]!.steps[0]!.factor)} for ${tally.examples[0]}, as for a split or a dividend: harmless for labels and for features that are ratios of prices`,
      evidence: { ...evidence, ...factors(tally) },
    });
  });
  return [...tickerFindings("data_extractor", prices, returns), ...found, ...rowFindings(prices)];
}

function rowFindings({ calendar }: HistoryComparison): Finding[] {
  const [added, lost] = [calendar.added(), calendar.lost()];
  const isLate = calendar.addedLate(LATE_DAYS) === added.rows;
  const kinds = [
    [isLate ? "price_arrived_late" : "price_back_filled", added, "were missing in the earlier blob"],
    ["price_vanished", lost, "of the earlier blob are missing today"],
  ] as const satisfies (readonly [FindingCode, typeof added, string])[];
  return kinds.flatMap(([code, { rows, tickers, days }, what]) => {
    if (rows === 0) return [];
    return [
      finding(code, {
        ...(tickers.length === 1 ? { ticker: tickers[0] } : {}),
        message: `${counted(rows, "price")} of ${counted(tickers.length, "ticker")} ${datesText(days)} ${what}`,
        evidence: { rows, tickers: tickers.length, ...datesOf(days), examples: tickers.slice(0, 5) },
      }),
    ];
  });
}
