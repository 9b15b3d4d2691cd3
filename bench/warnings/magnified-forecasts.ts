import { isWild } from "../../src/evaluate/shrinkage.ts";
import { type Random, seededRandom } from "../../test/twins/random.ts";
import type { Table } from "../table.ts";

/** Deviation of right-sized forecasts, relative to the labels'. */
const SPREADS = [0.05, 0.1, 0.15, 0.16, 0.17, 0.2, 0.3];
const FACTORS = [1, 2, 3, 5, 10];

/** Tickers of each cell. */
const DRAWS = 400;

const FIT_ROWS = 750;
const HELD_OUT_ROWS = 225;
const SCORE_ROWS = 250;

/**
 * How often `wild_forecast` names a ticker whose forecasts are right except for a factor. Takes seconds; does not depend on the machine.
 */
export function magnifiedTable(): Table {
  const random = seededRandom(1);
  return {
    title: "tickers with wild_forecast, forecasts times a factor",
    header: ["deviation of forecasts / of returns", ...FACTORS.map((factor) => `x ${factor}`)],
    rows: SPREADS.map((spread) => [
      `${spread}`,
      ...FACTORS.map((factor) => shareFound(random, spread, factor)),
    ]),
  };
}

function shareFound(random: Random, spread: number, factor: number): string {
  let found = 0;
  for (let draw = 0; draw < DRAWS; draw++) if (isFound(random, spread, factor)) found++;
  return `${((100 * found) / DRAWS).toFixed(1)} %`;
}

/** Labels are a normal forecast plus fat-tailed noise; the model predicts `factor` times that forecast. */
function isFound(random: Random, spread: number, factor: number): boolean {
  const rows = (n: number) => {
    const right = Float64Array.from({ length: n }, () => spread * random.normal());
    const noise = Math.sqrt(1 - spread ** 2);
    return {
      realised: right.map((value) => value + noise * fatTailed(random)),
      predicted: right.map((value) => factor * value),
    };
  };
  const score = rows(SCORE_ROWS).predicted;
  return isWild({
    fitLabels: rows(FIT_ROWS).realised,
    heldOut: rows(HELD_OUT_ROWS),
    score,
    mu: score.at(-1),
  });
}

/** Student's t with 5 degrees of freedom, of variance 1. */
function fatTailed(random: Random): number {
  let squares = 0;
  for (let i = 0; i < 5; i++) squares += random.normal() ** 2;
  return random.normal() / Math.sqrt(squares / 3);
}
