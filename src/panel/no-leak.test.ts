import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { asColumns, FAULTS, faultyQuotes, type Quotes } from "../../test/twins/market.ts";
import { seededRandom } from "../../test/twins/random.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { type Day, formatDay, parseDay } from "../contract/market/dates.ts";
import { buildTickerPanel, type TickerInput, type TickerPanel } from "./ticker-panel.ts";

type Builder = (input: TickerInput) => TickerPanel;

/** Ways in which everything dated after a day can turn out differently. */
const FUTURES: Record<string, (quotes: Quotes, after: string) => Quotes> = {
  deleted: (quotes, after) => changed(quotes, after, () => undefined),
  scrambled: (quotes, after) => {
    const random = seededRandom(parseDay(after)!);
    return changed(quotes, after, (values) => values.map(() => 50 * random.uniform()));
  },
  unreadable: (quotes, after) => changed(quotes, after, (values) => values.map(() => Number.NaN)),
  longer: (quotes, after) => {
    const later = formatDay(parseDay([...quotes.prices.keys(), after].sort().at(-1)!)! + 1);
    return {
      ...quotes,
      prices: new Map(quotes.prices).set(later, 42),
      features: new Map(quotes.features).set(later, [4, 3, 2, 1]),
    };
  },
};

function changed(
  quotes: Quotes,
  after: string,
  change: (values: readonly number[]) => readonly number[] | undefined,
): Quotes {
  const prices = new Map<string, number>();
  for (const [date, price] of quotes.prices) {
    const value = date > after ? change([price])?.[0] : price;
    if (value !== undefined) prices.set(date, value);
  }
  const features = new Map<string, readonly number[]>();
  for (const [date, row] of quotes.features) {
    const values = date > after ? change(row) : row;
    if (values !== undefined) features.set(date, values);
  }
  return { names: quotes.names, prices, features };
}

/** Everything that a panel claims to know at the close of `at`, which is not earlier than the cut. */
function knownAt(build: Builder, quotes: Quotes, cut: Day, at: Day): object {
  const window = { start: parseDay("2019-01-01")!, end: parseDay("2029-12-31")!, cut };
  let panel: TickerPanel;
  try {
    panel = build({ ticker: "AAA", ...asColumns("AAA", quotes), window });
  } catch (error) {
    assert.ok(error instanceof MucastError);
    return { failed: error.code, rows: (error.data.rows as { fitRows: number }).fitRows };
  }
  const k = panel.columns.length;
  return {
    columns: panel.columns,
    fit: Array.from(panel.fit, (i) => ({ day: panel.days[i], label: panel.y[i] })),
    rows: Array.from(panel.days.keys())
      .filter((i) => panel.days[i]! <= at)
      .map((i) => ({
        day: panel.days[i],
        features: panel.x.slice(i * k, i * k + k),
        label: panel.labelDays[i]! <= at && !Number.isNaN(panel.y[i]) ? panel.y[i] : "unknown",
      })),
  };
}

/** The check itself: the first day on which the builder used something from a later one, and in which future. */
function firstLeak(build: Builder, quotes: Quotes, cut: Day): string | undefined {
  const later = [...quotes.prices.keys()].map((date) => parseDay(date)!).filter((day) => day > cut);
  for (const at of [cut, ...later.filter((_, i) => i % 5 === 0)]) {
    const known = knownAt(build, quotes, cut, at);
    for (const [name, future] of Object.entries(FUTURES)) {
      const other = knownAt(build, future(quotes, formatDay(at)), cut, at);
      if (!isDeepStrictEqual(known, other)) return `${formatDay(at)}: ${name}`;
    }
  }
  return undefined;
}

function cutOf(quotes: Quotes, share: number): Day {
  const dates = [...quotes.prices.keys()];
  return parseDay(dates[Math.floor(share * (dates.length - 1))]!)!;
}

test("nothing known at a date changes with later data, with any delay", () => {
  let fitted = 0;
  const share = fc.integer({ min: 40, max: 95 });
  const property = fc.property(FAULTS, share, fc.integer({ min: 0, max: 5 }), (faults, percent, delay) => {
    const quotes = faultyQuotes(faults);
    const cut = cutOf(quotes, percent / 100);
    const build: Builder = ({ window, ...input }) =>
      buildTickerPanel({ ...input, window: { ...window, delay } });
    assert.equal(firstLeak(build, quotes, cut), undefined);
    if ("fit" in knownAt(build, quotes, cut, cut)) fitted++;
  });
  fc.assert(property, { numRuns: 60, seed: 11 });
  assert.ok(fitted > 10, `the histories must be good enough to learn from: ${fitted} were`);
});
