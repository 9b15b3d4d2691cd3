import { atOnce } from "../../src/contract/machine/pausable.ts";
import { verdictOf } from "../../src/evaluate/verdict/verdict.ts";
import { pairedDifferences } from "../../src/report/evidence/paired-differences.ts";
import type { Table } from "../table.ts";
import { DATES, percent } from "./band-sizes.ts";
import { nullMarket } from "./null-market.ts";

const OUTPUTS = 8;
const TICKERS = 20;
const MARKETS = 200;
const CORRELATIONS = [0, 0.5, 0.9];

/** How often something about eight outputs without skill looks like evidence. Takes minutes; does not depend on the machine. */
export function familywiseTable(): Table {
  return {
    title: `reports on ${OUTPUTS} outputs without skill (${TICKERS} tickers, ${MARKETS} markets)`,
    header: ["dates", "correlation", "any evidence of skill", "differences without 0 in their band"],
    rows: DATES.flatMap((dates) => CORRELATIONS.map((correlation) => familyRow(dates, correlation))),
  };
}

function familyRow(dates: number, correlation: number): string[] {
  let [skilled, pairs, clear] = [0, 0, 0];
  for (let seed = 1; seed <= MARKETS; seed++) {
    const outputs = nullMarket({ seed, tickers: TICKERS, dates, outputs: OUTPUTS, correlation });
    const states = outputs.map(
      (forecasts) => atOnce(verdictOf([{ rows: "score", forecasts }], undefined)).state,
    );
    if (states.some((state) => state === "skill" || state === "oversized")) skilled++;
    for (const { band } of pairedDifferences(outputs).pairs) {
      pairs++;
      if (band !== null && (band.low > 0 || band.high < 0)) clear++;
    }
  }
  return [`${dates}`, `${correlation}`, percent(skilled / MARKETS), percent(clear / pairs)];
}
