import { skillByAge } from "../../src/report/statistics/model-age.ts";
import { type Random, seededRandom } from "../../test/twins/random.ts";
import type { Table } from "../table.ts";
import { percent } from "./band-sizes.ts";

const DATES = 1_000;
const REPETITIONS = 2_000;
const BLOCKS = [63, 126, 252];

/**
 * Series of a daily RankIC whose mean is 0 at every age, of variance 1. docs/report.md compares them with signals on the
 * example's prices.
 */
const SERIES: Readonly<Record<string, (random: Random) => Float64Array>> = {
  independent: (random) => persistent(random, 0),
  "correlation of 0.1 with the previous date": (random) => persistent(random, 0.1),
  "correlation of 0.3": (random) => persistent(random, 0.3),
  "1 % of the variance lasts for months": (random) => lasting(random, 0.01),
  "2 % of the variance lasts for months": (random) => lasting(random, 0.02),
};

/**
 * How often the bands of the RankIC by age are wrong if age does not matter. Takes a quarter of a minute; does not depend on the
 * machine.
 */
export function ageBandTable(): Table {
  return {
    title: `95 % bands by age of the model that exclude the truth, and the bands of the youngest and oldest models apart (${DATES} dates, ${REPETITIONS} series)`,
    header: ["daily RankIC", ...BLOCKS.flatMap((every) => [`blocks of ${every}`, "apart"])],
    rows: Object.entries(SERIES).map(([name, of]) => [name, ...BLOCKS.flatMap((every) => cells(of, every))]),
  };
}

function cells(of: (random: Random) => Float64Array, every: number): string[] {
  const random = seededRandom(5);
  const forecastDays = Int32Array.from({ length: DATES }, (_, i) => i);
  const refits = [...forecastDays].filter((i) => i > 0 && i % every === 0);
  let [bins, excluded, apart] = [0, 0, 0];
  for (let repetition = 0; repetition < REPETITIONS; repetition++) {
    const values = of(random);
    const found = skillByAge(forecastDays, values, { forecastDays, refits, every });
    for (const { band } of found) {
      bins++;
      if (excludes(band!, 0)) excluded++;
    }
    const [young, old] = [found[0]!.band!, found.at(-1)!.band!];
    if (young.low > old.high || young.high < old.low) apart++;
  }
  return [percent(excluded / bins), percent(apart / REPETITIONS)];
}

function excludes({ low, high }: { readonly low: number; readonly high: number }, truth: number): boolean {
  return low > truth || high < truth;
}

/** Half of the lasting part is gone after 34 dates. */
function lasting(random: Random, share: number): Float64Array {
  const slow = persistent(random, 0.98);
  return persistent(random, 0).map((value, i) => Math.sqrt(1 - share) * value + Math.sqrt(share) * slow[i]!);
}

/** Of variance 1. @param persistence correlation with the previous date. */
function persistent(random: Random, persistence: number): Float64Array {
  let last = random.normal();
  return Float64Array.from({ length: DATES }, () => {
    last = persistence * last + Math.sqrt(1 - persistence ** 2) * random.normal();
    return last;
  });
}
