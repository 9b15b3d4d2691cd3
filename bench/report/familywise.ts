import { atOnce } from "../../src/contract/machine/pausable.ts";
import { verdictOf } from "../../src/evaluate/verdict/verdict.ts";
import { adjustedVerdict } from "../../src/report/evidence/adjusted-verdict.ts";
import { comparisonTests, LEVEL } from "../../src/report/evidence/comparison-tests.ts";
import type { Table } from "../table.ts";
import { DATES, percent } from "./band-sizes.ts";
import { nullMarket } from "./null-market.ts";

const OUTPUTS = 8;
const TICKERS = 20;
const MARKETS = 200;
const CORRELATIONS = [0, 0.5, 0.9];

/** How often a report on eight outputs without skill makes a statement about any of them. Takes minutes; does not depend on the machine. */
export function familywiseTable(): Table {
  return {
    title: `reports on ${OUTPUTS} outputs without skill (${TICKERS} tickers, ${MARKETS} markets)`,
    header: [
      "dates",
      "correlation",
      "any evidence of skill, each alone",
      "adjusted",
      "any worse, each alone",
      "adjusted",
      "superior ability: order",
      "zero",
      "training mean",
      "best not in the set: order",
      "squared error",
      "any pair apart",
    ],
    rows: DATES.flatMap((dates) => CORRELATIONS.map((correlation) => familyRow(dates, correlation))),
  };
}

function familyRow(dates: number, correlation: number): string[] {
  const counts = new Map<string, number>();
  const count = (name: string, found: boolean) => counts.set(name, (counts.get(name) ?? 0) + (found ? 1 : 0));
  for (let seed = 1; seed <= MARKETS; seed++) {
    const outputs = nullMarket({ seed, tickers: TICKERS, dates, outputs: OUTPUTS, correlation });
    const tests = comparisonTests(outputs);
    const alone = outputs.map((forecasts) => atOnce(verdictOf([{ rows: "score", forecasts }], undefined)));
    const adjusted = alone.map((verdict, k) => adjustedVerdict(verdict, tests.skill?.[k], OUTPUTS));
    const isSkilled = ({ state }: { state: string }) => state === "skill" || state === "oversized";
    const isWorse = ({ state }: { state: string }) => state === "worse";
    count("alone", alone.some(isSkilled));
    count("adjusted", adjusted.some(isSkilled));
    count("worse", alone.some(isWorse));
    count("adjusted worse", adjusted.some(isWorse));
    for (const benchmark of ["no order", "zero forecast", "training mean"] as const) {
      count(
        benchmark,
        tests.ability.some((one) => one.benchmark === benchmark && one.p <= LEVEL),
      );
    }
    // All are in truth equally good, so the first one is a best one.
    count("order set", (tests.confidence?.order[0] ?? 1) <= LEVEL);
    count("sizes set", (tests.confidence?.sizes[0] ?? 1) <= LEVEL);
    count(
      "pairs",
      tests.pairs.some(({ p }) => p !== null && p <= LEVEL),
    );
  }
  return [`${dates}`, `${correlation}`, ...[...counts.values()].map((found) => percent(found / MARKETS))];
}
