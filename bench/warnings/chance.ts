import { atOnce } from "../../src/contract/machine/pausable.ts";
import type { ForecastRows } from "../../src/evaluate/forecast-rows.ts";
import { NEWEY_WEST_LAG, neweyWestQuantile, neweyWestT } from "../../src/evaluate/newey-west.ts";
import { isSkilled, type Skill, skillOf } from "../../src/evaluate/skill.ts";
import { type Random, seededRandom } from "../../test/twins/random.ts";
import type { Table } from "../table.ts";

const DATES = [5, 8, 10, 20, 30, 60, 225];

/** Of gains, which cost little, and of whole tests. */
const DRAWS = 20_000;
const TESTS = 4_000;

const NORMAL_95 = 1.645;
const CORRELATION = 0.3;
const TICKERS = 8;

/** How often `no_skill` would stay away by chance, by the number of dates. Takes seconds; nothing in it depends on the machine. */
export function chanceTable(): Table {
  const random = seededRandom(1);
  const rows = DATES.map((dates) => {
    const quantile = dates > NEWEY_WEST_LAG ? neweyWestQuantile(dates) : Number.NaN;
    const gains = [0, CORRELATION].flatMap((correlation) => {
      const found = Array.from({ length: DRAWS }, () => neweyWestT(gainsOf(random, dates, correlation)));
      const share = (asked: number) => percent(found.filter((t) => t !== null && t >= asked).length / DRAWS);
      return [share(NORMAL_95), Number.isNaN(quantile) ? "-" : share(quantile)];
    });
    const noise = shareOfNoise(random, dates);
    return [`${dates}`, Number.isNaN(quantile) ? "-" : quantile.toFixed(3), ...gains, ...noise];
  });
  return {
    title: "what passes by chance",
    header: [
      "dates",
      "quantile",
      `${NORMAL_95}`,
      "quantile",
      `${NORMAL_95}, correlated`,
      "quantile, correlated",
      `noise, ${NORMAL_95}`,
      "noise, the test",
    ],
    rows,
  };
}

/** Gains that are 0 on average: shape (dates). @param correlation of each with that of the date before. */
function gainsOf(random: Random, dates: number, correlation: number): Float64Array {
  let last = random.normal() / Math.sqrt(1 - correlation ** 2);
  return Float64Array.from({ length: dates }, () => {
    last = correlation * last + random.normal();
    return last;
  });
}

/** The shares of forecasts of noise, a tenth of the labels' size, that pass against both baselines: with the normal quantile, and the test. */
function shareOfNoise(random: Random, dates: number): string[] {
  const skills = Array.from({ length: TESTS }, () =>
    atOnce(skillOf(Array.from({ length: TICKERS }, (_, t) => noiseRows(random, dates, `T${t}`)))),
  );
  const isAbove = (t: number | null) => t !== null && t >= NORMAL_95;
  const passes: readonly ((skill: Skill) => boolean)[] = [
    ({ t }) => isAbove(t.zero) && isAbove(t.mean),
    (skill) => isSkilled(skill, "zero") && isSkilled(skill, "mean"),
  ];
  return passes.map((isPassed) => percent(skills.filter(isPassed).length / TESTS));
}

/** The training mean is that of 500 labels. */
function noiseRows(random: Random, dates: number, ticker: string): ForecastRows {
  const learned = random.normal() / Math.sqrt(500);
  const values = (value: () => number) => Float64Array.from({ length: dates }, value);
  return {
    ticker,
    days: Int32Array.from({ length: dates }, (_, d) => d),
    realised: values(() => random.normal()),
    predicted: values(() => learned + 0.1 * random.normal()),
    trainingMean: values(() => learned),
  };
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
