import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { seededRandom } from "../../../test/twins/random.ts";
import type { CheckResult, Finding } from "../check.ts";
import { checked } from "../checked.testing.ts";
import {
  type Cell,
  cleanMarket,
  EARLIER,
  type Market,
  mean,
  priceFeatures,
  TICKERS,
} from "./clean-market.testing.ts";
import { restatement } from "./restatement.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-restatement-"));
after(() => rmSync(folder, { recursive: true }));

function written(name: string, market: Market): { featureUrl: string; dataExtractorUrl: string } {
  const { dates, prices, features } = market;
  const [featureUrl, dataExtractorUrl] = ["features", "prices"].map((kind) =>
    join(folder, `${kind}-${name}.json`),
  ) as [string, string];
  writeFileSync(featureUrl, JSON.stringify({ dates, features }));
  writeFileSync(dataExtractorUrl, JSON.stringify({ dates, prices }));
  return { featureUrl, dataExtractorUrl };
}

function audit(previous: object | undefined, request: { featureUrl: string; dataExtractorUrl: string }) {
  return checked(restatement, {
    request: { ...request, config: '{"ML params": {"model": "ridge"}}', id: "audit" },
    ...(previous === undefined ? {} : { previous }),
  });
}

/** Audits two days of a clean market after `plant` has changed the contents of the earlier day's and today's blobs. */
function planted(plant: (earlier: Market, today: Market) => void, seed = 1): Promise<CheckResult> {
  const [earlier, today] = [cleanMarket(seed, EARLIER), cleanMarket(seed)];
  plant(earlier, today);
  return audit(written("earlier", earlier), written("today", today));
}

function told(findings: readonly Finding[]): string[] {
  return findings.map(({ code, feature, ticker }) => [code, feature, ticker].filter(Boolean).join(" "));
}

/** The only finding. */
function only({ findings }: CheckResult): Finding {
  assert.equal(findings.length, 1, told(findings).join("; "));
  return findings[0]!;
}

function mapped(cells: Cell[], change: (value: number, i: number) => number): Cell[] {
  return cells.map((value, i) => (value === null ? null : change(value, i)));
}

test("two successive honest days leave no finding, on five markets", async () => {
  for (let seed = 1; seed <= 5; seed++) {
    const { status, findings, tests, facts } = await planted(() => undefined, seed);
    assert.deepEqual([status, findings], ["clean", []]);
    // 20 tickers with their price and 6 features.
    assert.equal(tests, 140);
    const { changed, rounded, warm_up, values, previous_end } = facts.feature as Record<string, unknown>;
    assert.deepEqual([changed, rounded, warm_up], [0, 0, 0]);
    assert.deepEqual([values, previous_end], [20 * 6 * EARLIER, "2022-02-25"]);
  }
});

test("a window that moves on is not a finding: warm-ups at its start are counted separately", async () => {
  for (const [from, to] of [
    [0, 10],
    [10, 0],
  ] as const) {
    const earlier = written("earlier", cleanMarket(1, EARLIER, from));
    const today = written("today", cleanMarket(1, undefined, to));
    const { findings, facts } = await audit(earlier, today);
    assert.deepEqual(told(findings), []);
    assert.ok(((facts.feature as Record<string, unknown>).warm_up as number) > 0);
  }
});

test("a restated week of one feature is found, with its dates and size", async () => {
  const found = only(
    await planted((_, { features }) => {
      const random = seededRandom(5);
      for (const ticker of TICKERS)
        features[ticker]!.vol_20 = mapped(features[ticker]!.vol_20!, (value, i) =>
          i >= 200 && i < 205 ? value * (1 + 0.1 * random.normal()) : value,
        );
    }),
  );
  assert.deepEqual([found.code, found.severity, found.feature], ["feature_rewritten", "high", "vol_20"]);
  const { values, tickers, dates, first, last, reach_rows } = found.evidence;
  assert.deepEqual([values, tickers, dates, reach_rows], [100, 20, 5, 100]);
  assert.deepEqual([first, last], ["2021-10-11", "2021-10-15"]);
  assert.match(found.message, /^vol_20: 100 values of 20 tickers on 5 dates from 2021-10-11 to 2021-10-15 /);
});

test("a split is harmless if the features are ratios", async () => {
  const { status, findings } = await planted((earlier, { prices, features }) => {
    for (const market of [earlier.features, features])
      for (const ticker of TICKERS) delete market[ticker]!.mean_20;
    prices.T05 = mapped(prices.T05!, (value) => value / 4);
  });
  assert.deepEqual([status, told(findings)], ["clean", ["price_rescaled T05"]]);
  assert.equal(findings[0]!.severity, "note");
  const factors = findings[0]!.evidence.factors as { steps: { factor: number; from: string }[] }[];
  assert.deepEqual(
    factors.map(({ steps }) => steps.map(({ factor, from }) => [Math.round(1e9 * factor) / 1e9, from])),
    [[[0.25, "2021-01-04"]]],
  );
});

test("a split is not harmless for a feature that is a level", async () => {
  const { status, findings } = await planted((_, { prices, features }) => {
    prices.T05 = mapped(prices.T05!, (value) => value / 4);
    Object.assign(features.T05!, priceFeatures(prices.T05 as number[]));
  });
  assert.deepEqual(told(findings), ["price_rescaled T05", "feature_rescaled mean_20 T05"]);
  assert.equal(status, "found");
  assert.deepEqual([findings[1]!.severity, findings[1]!.evidence.as_prices], ["medium", 1]);
});

test("a dividend is recognised in prices of two decimals, inside the window and before its end", async () => {
  for (const exDate of [EARLIER - 3, 150, 305]) {
    const { status, findings } = await planted((earlier, today) => {
      const cents = (value: number) => Math.round(100 * value) / 100;
      today.prices.T02 = mapped(today.prices.T02!, (value, i) => cents(i < exDate ? 0.992 * value : value));
      earlier.prices.T02 = mapped(earlier.prices.T02!, cents);
    });
    assert.deepEqual([status, told(findings)], ["clean", ["price_rescaled T02"]]);
  }
});

test("filled prices are found; prices that only came late are a note", async () => {
  const filled = await planted(({ prices }) => {
    for (let i = 100; i < 103; i++) prices.T04![i] = null;
  });
  assert.deepEqual([filled.status, told(filled.findings)], ["found", ["price_back_filled T04"]]);
  const late = await planted(({ prices }) => {
    for (const ticker of TICKERS.slice(0, 4)) prices[ticker]![EARLIER - 1] = null;
  });
  assert.deepEqual([late.status, told(late.findings)], ["clean", ["price_arrived_late"]]);
});

test("the last rows of a ticker that came late are a note, those of one feature are not", async () => {
  const late = await planted(({ features }) => {
    for (const cells of Object.values(features.T04!)) cells[EARLIER - 1] = null;
  });
  const names = Object.keys(cleanMarket(1).features.T04!);
  assert.deepEqual([late.status, told(late.findings)], ["clean", ["feature_arrived_late T04"]]);
  assert.deepEqual(late.findings[0]!.evidence.first_features, names);
  const one = await planted(({ features }) => {
    for (let i = EARLIER - 3; i < EARLIER; i++) features.T04!.earnings![i] = null;
  });
  assert.deepEqual([one.status, told(one.findings)], ["found", ["feature_back_filled earnings T04"]]);
});

test("gaps that moved in every feature are one finding, with the features and both kinds of change", async () => {
  const { findings } = await planted((earlier, today) => {
    for (const ticker of ["T02", "T07"]) {
      const now = today.features[ticker]!;
      for (const cells of Object.values(earlier.features[ticker]!)) cells.fill(null, 100, 110);
      for (const cells of Object.values(now)) cells.fill(null, 150, 155);
    }
  });
  const names = Object.keys(cleanMarket(1).features.T02!);
  const [one] = findings;
  assert.deepEqual(told(findings), ["feature_back_filled"]);
  assert.deepEqual([one!.evidence.features, one!.evidence.first_features], [names.length, names]);
  assert.equal((one!.evidence.also as { feature_erased: { values: number } }).feature_erased.values, 10);
  assert.match(one!.message, /missing and have numbers now, and 10 values .* are missing now$/);
});

test("a universe that dropped its losers is found in both blobs, with their losses", async () => {
  const { findings } = await planted((earlier, today) => {
    const past = (ticker: string) =>
      Math.log((earlier.prices[ticker]!.at(-1) ?? 1) / earlier.prices[ticker]![0]!);
    for (const ticker of TICKERS.toSorted((a, b) => past(a) - past(b)).slice(0, 4)) {
      delete today.prices[ticker];
      delete today.features[ticker];
    }
  });
  assert.deepEqual(told(findings), ["ticker_vanished", "ticker_vanished"]);
  assert.deepEqual(
    findings.map(({ evidence }) => [evidence.blob, evidence.tickers, evidence.of]),
    [
      ["data_extractor", 4, 20],
      ["feature", 4, 20],
    ],
  );
  const { return_vanished, return_kept } = findings[0]!.evidence;
  assert.ok((return_vanished as number) < -0.2 && (return_kept as number) > 0);
});

test("the lost history of one ticker is found, and a new ticker is a note", async () => {
  const gone = await planted((_, { prices, features }) => {
    prices.T01 = prices.T01!.map((price, i) => (i < 150 ? null : price));
    features.T01!.vol_20 = features.T01!.vol_20!.map((value, i) => (i < 150 ? null : value));
  });
  assert.deepEqual(told(gone.findings), ["price_vanished T01", "feature_erased vol_20 T01"]);
  const appeared = await planted(({ prices, features }) => {
    delete prices.T01;
    delete features.T01;
  });
  assert.deepEqual(
    [appeared.status, told(appeared.findings)],
    ["clean", ["ticker_appeared T01", "ticker_appeared T01"]],
  );
});

test("a centred moving average is found by the values that it rewrites near the end", async () => {
  const half = 4;
  const smooth = (cells: Cell[]) =>
    cells.map((value, i) =>
      value === null || i < 30 ? value : mean(cells.slice(i - half, i + half + 1) as number[]),
    );
  const found = only(
    await planted((earlier, today) => {
      for (const { features } of [earlier, today])
        for (const ticker of TICKERS) features[ticker]!.mom_5 = smooth(features[ticker]!.mom_5!);
    }),
  );
  assert.deepEqual(told([found]), ["feature_rewritten mom_5"]);
  assert.deepEqual(
    [found.evidence.reach_rows, found.evidence.dates, found.evidence.tickers],
    [half, half, 20],
  );
});

test("other spellings of the same numbers are not a finding, nor is another order of tickers and columns", async () => {
  const { status, findings, facts } = await planted((earlier, today) => {
    for (const ticker of TICKERS) {
      for (const [name, cells] of Object.entries(today.features[ticker]!))
        today.features[ticker]![name] = mapped(cells, Math.fround);
      today.features[ticker] = Object.fromEntries(Object.entries(today.features[ticker]!).reverse());
    }
    today.features = Object.fromEntries(Object.entries(today.features).reverse());
    today.prices = Object.fromEntries(Object.entries(today.prices).reverse());
    earlier.features = Object.fromEntries(seededRandom(3).shuffled(Object.entries(earlier.features)));
  });
  assert.deepEqual([status, findings], ["clean", []]);
  assert.ok(((facts.feature as Record<string, unknown>).rounded as number) > 20_000);
});

test("a lost feature is a note, a new one a fact", async () => {
  const { status, findings, facts } = await planted((earlier, today) => {
    for (const ticker of TICKERS) {
      delete earlier.features[ticker]!.mom_5;
      delete today.features[ticker]!.vol_20;
    }
  });
  assert.deepEqual([status, told(findings)], ["clean", ["feature_removed"]]);
  assert.deepEqual((facts.feature as Record<string, unknown>).added, ["mom_5"]);
});

test("without an earlier blob there is nothing to run, and a single earlier blob is compared", async () => {
  const today = written("today", cleanMarket(1));
  assert.equal((await audit(undefined, today)).status, "not_run");
  assert.equal((await audit({}, today)).status, "not_run");
  const { featureUrl } = written("earlier", cleanMarket(1, EARLIER));
  const { status, tests, facts } = await audit({ featureUrl }, today);
  assert.deepEqual([status, tests, facts.data_extractor], ["clean", 120, null]);
});

test("swapped blobs are an error, not a clean audit", async () => {
  const [earlier, today] = [written("earlier", cleanMarket(1, EARLIER)), written("today", cleanMarket(1))];
  await assert.rejects(audit(today, earlier), {
    code: "invalid_data",
    message: /ends on 2022-03-11, after today's .* ends on 2022-02-25; were the two blobs swapped\?$/,
  });
});
