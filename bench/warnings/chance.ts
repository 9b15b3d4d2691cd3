import { meanQuantile, meanT } from "../../src/evaluate/mean-test.ts";
import { NEWEY_WEST_LAG } from "../../src/evaluate/newey-west.ts";
import { type Random, seededRandom } from "../../test/twins/random.ts";
import type { Table } from "../table.ts";

const DATES = [5, 8, 10, 20, 30, 60, 225];

const DRAWS = 20_000;

const NORMAL_95 = 1.645;
const CORRELATION = 0.3;

/** How often chance exceeds the quantile of a t over dates. Takes seconds; does not depend on the machine. */
export function chanceTable(): Table {
  const random = seededRandom(1);
  const rows = DATES.map((dates) => {
    const quantile = dates > NEWEY_WEST_LAG ? meanQuantile(dates) : Number.NaN;
    const gains = [0, CORRELATION].flatMap((correlation) => {
      const found = Array.from({ length: DRAWS }, () => meanT(gainsOf(random, dates, correlation)));
      const share = (asked: number) => percent(found.filter((t) => t !== null && t >= asked).length / DRAWS);
      return [share(NORMAL_95), Number.isNaN(quantile) ? "-" : share(quantile)];
    });
    return [`${dates}`, Number.isNaN(quantile) ? "-" : quantile.toFixed(3), ...gains];
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
    ],
    rows,
  };
}

/** Gains that are 0 on average: shape (dates). @param correlation of each with that of the previous date. */
function gainsOf(random: Random, dates: number, correlation: number): Float64Array {
  let last = random.normal() / Math.sqrt(1 - correlation ** 2);
  return Float64Array.from({ length: dates }, () => {
    last = correlation * last + random.normal();
    return last;
  });
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
