import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { smallFactorOf } from "../../contract/output/small-factor.ts";
import { dlText, mlText } from "../../outputs/outputs.testing.ts";
import { figure, typesetFigures } from "../../view/figures.ts";
import type { Part } from "../panels/section.ts";
import { reported, reportedData, sentencesIn } from "../reported.testing.ts";
import { forecastsSection } from "./forecasts.ts";

const WITH_INTERVALS = { config: { intervals: {} } };

const TEXTS = {
  classical: mlText(WITH_INTERVALS),
  network: dlText(WITH_INTERVALS),
  shrunk: mlText({ config: { intervals: { method: "split" }, shrinkage: "own" }, skill: 0.05 }),
  lower: mlText({ config: { intervals: { bound: "lower" } } }),
  upper: dlText({ config: { intervals: { bound: "upper" } } }),
  "without intervals": mlText({ config: { intervals: { enabled: false } } }),
  candidates: mlText({
    config: { n_splits: 2, choice: { candidates: [{ grid: { alpha: [2, 3] } }], warm_up: 2 } },
    folds: 4,
  }),
  "candidates without folds": mlText({
    config: { choice: { candidates: [{ scaler: "standard" }] } },
    folds: 0,
  }),
  open: mlText({ isOpen: true, ...WITH_INTERVALS }),
  "two tickers": mlText({ tickers: ["A", "B"], ...WITH_INTERVALS }),
  "one ticker": mlText({ tickers: ["A"], ...WITH_INTERVALS }),
  "no folds": mlText({ folds: 0, ...WITH_INTERVALS }),
  "no tickers": mlText({ tickers: [] }),
  "few dates": mlText({ scoreRows: 5, ...WITH_INTERVALS }),
  "two rows": mlText({ scoreRows: 2, ...WITH_INTERVALS }),
  "one epoch": dlText({}, 1),
  disabled: dlText({
    config: { status: false },
    warnings: [{ code: "disabled", message: "status is false: nothing was trained." }],
  }),
  "shrunk to 0": mlText({ skill: -0.5, config: { intervals: {}, shrinkage: "pooled" } }),
  "of an absurd size": mlText({ skill: 1e200, ...WITH_INTERVALS }),
  hostile: mlText({
    tickers: ["__proto__", "10", "<script>", "9", "constructor", "\u202eevil"],
    ...WITH_INTERVALS,
  }),
};

const reportOn = (text: string) => reportedData(text).outputs[0]!;

for (const [name, text] of Object.entries(TEXTS)) {
  test(`every part is present, or a sentence says why not: ${name}`, () => {
    const report = reportOn(text);
    const { verdict, origin: _origin, ...rest } = report;
    const parts: Readonly<Record<string, Part<unknown>>> = rest;
    for (const [part, { data, absent }] of Object.entries(parts)) {
      assert.ok((data === undefined) !== (absent === undefined), part);
    }
    const sentences = sentencesIn(report);
    assert.ok(sentences.length >= 10);
    for (const sentence of sentences) {
      assert.match(sentence, /^\S.*\.$/su);
      assert.doesNotMatch(
        sentence,
        /NaN|undefined|null|Infinity|\[object|\b1 (rows|dates|tickers|years|folds)\b|\d %/,
        name,
      );
    }
    assert.ok(verdict.sentences.length > 0);
    assert.equal(verdict.tiles.length, 6);
  });
}

test("figures that are also in the output are the same to the last bit", () => {
  for (const name of [
    "classical",
    "network",
    "shrunk",
    "lower",
    "upper",
    "two tickers",
    "hostile",
  ] as const) {
    const { metrics, mu, verdict: written }: OutputBlob = JSON.parse(TEXTS[name]);
    const { verdict, tickers, sizes, intervals } = reportOn(TEXTS[name]);
    const { pooled, cross_section: across } = metrics.score;
    // Of the verdict, which judges networks by held-out rows before there are 250 score dates.
    const [headline] = written!.judged;
    const isRecorded = headline!.rows === "score" || headline!.rows === "out_of_fold";
    const judged = isRecorded ? written!.judged.find(({ rows }) => rows === "score")! : headline!;
    const isWide = judged.order.form === "cross_section";
    assert.deepEqual(
      verdict.tiles.map(({ value }) => value),
      [
        isWide ? judged.order.figure : null,
        name === "two tickers" ? null : across.rank_ic_mean,
        judged.sizes.against.zero.r2,
        pooled.hit_rate,
        metrics.intervals!.pooled.coverage,
        metrics.shrinkage!.by_date!.b,
      ],
    );
    assert.equal(verdict.tiles[3]!.reference.value, pooled.up_share);
    const { zero, mean } = metrics.baselines;
    const rmses = [pooled, zero.score.pooled, mean.score.pooled].map(({ rmse }) => rmse);
    assert.deepEqual(
      verdict.baselines.map(({ rmse }) => rmse),
      rmses,
    );
    const byTicker = new Map(Object.entries(metrics.score.by_ticker));
    assert.equal(tickers.data!.rows.length, byTicker.size);
    for (const row of tickers.data!.rows) {
      const recorded = byTicker.get(row.ticker)!;
      const { n, rmse, hit_rate, r2_zero, r2_mean, correlation } = recorded;
      assert.deepEqual(
        [row.n, row.rmse, row.hitRate, row.r2Zero, row.r2Mean, row.correlation],
        [n, rmse, hit_rate, r2_zero, r2_mean, correlation],
      );
      assert.equal(row.mu, new Map(Object.entries(mu)).get(row.ticker));
    }
    assert.equal(sizes.data!.tickers.median, metrics.score.r2_zero_median);
    for (const { year, n, coverage, meanWidth } of intervals.data!.years) {
      const recorded = metrics.intervals!.pooled.by_year![String(year)]!;
      assert.deepEqual([n, coverage, meanWidth], [recorded.n, recorded.coverage, recorded.mean_width]);
    }
    const covered = new Map(Object.entries(metrics.intervals!.by_ticker));
    for (const { ticker, n, coverage } of intervals.data!.tickers) {
      assert.deepEqual([n, coverage], [covered.get(ticker)!.n, covered.get(ticker)!.coverage]);
    }
    assert.equal(verdict.facts.rows, pooled.n);
  }
});

test("missing parts are reported", () => {
  const absent = (
    name: keyof typeof TEXTS,
    part: "skill" | "order" | "sizes" | "intervals" | "folds" | "training" | "mu",
  ) => reportOn(TEXTS[name])[part].absent;
  assert.match(absent("without intervals", "intervals")!, /made without intervals/);
  assert.match(
    absent("open", "intervals")!,
    / On 320 rows before the cut, the coverage of the same method was /,
  );
  assert.match(absent("two tickers", "order")!, /at least 5 of them; the output has 2/);
  assert.match(absent("no folds", "folds")!, /too short for a walk-forward fold/);
  assert.match(absent("disabled", "mu")!, /^No ticker/);
  assert.match(absent("disabled", "skill")!, /disabled in its config/);
  assert.match(absent("classical", "training")!, /not from networks/);
  assert.match(absent("network", "folds")!, /no walk-forward folds/);
});

test("without a realised return, every section is drawn from the out-of-fold rows", () => {
  const { verdict, skill, order, sizes, tickers, mu } = reportOn(TEXTS.open);
  const { metrics, verdict: written } = JSON.parse(TEXTS.open) as OutputBlob;
  const { pooled, cross_section: across, by_ticker } = metrics.out_of_fold!;
  const { r2 } = written!.judged[0]!.sizes.against.zero;
  const value = (name: string) => verdict.tiles.find((tile) => tile.name.startsWith(name))!.value;
  assert.deepEqual(
    [value("IC"), value("R²"), value("Hit rate"), value("Interval coverage")],
    [across.ic_mean, r2, pooled.hit_rate, metrics.intervals!.pooled.prequential!.coverage],
  );
  const covered = verdict.tiles.find(({ name }) => name.startsWith("Interval coverage"))!;
  const { intervals } = written!.judged[0]!;
  assert.equal(covered.name, `Interval coverage, ${intervals!.dates} dates`);
  const half = Math.abs(((intervals!.figure! - intervals!.asked) / intervals!.t!) * intervals!.quantile!);
  assert.ok(Math.abs(covered.band!.high - covered.band!.low - 2 * half) < 1e-12);
  assert.deepEqual([verdict.facts.judgedRows, verdict.facts.rows], ["out_of_fold", pooled.n]);
  assert.equal(skill.data!.days.length, across.dates);
  assert.ok(order.data!.quantiles.length > 0 && sizes.data!.calibration.bins.length > 0);
  for (const { ticker, n, r2Zero } of tickers.data!.rows) {
    assert.deepEqual([n, r2Zero], [by_ticker[ticker]!.n, by_ticker[ticker]!.r2_zero]);
  }
  assert.ok(mu.data !== undefined, "the forecasts are those of mu");
});

test("the verdict is the output's, in its words", () => {
  for (const text of [mlText({ skill: 0.1 }), TEXTS.classical, TEXTS["few dates"], TEXTS.open]) {
    const { verdict } = reportOn(text);
    const written = JSON.parse(text).verdict;
    assert.deepEqual([verdict.state, verdict.title], [written.state, written.title]);
    assert.equal(verdict.sentences.join(" "), written.sentence);
  }
  assert.equal(reportOn(TEXTS["few dates"]).verdict.state, JSON.parse(TEXTS["few dates"]).verdict.state);
});

test("fewer than 30 dates have figures, and no band or judgement", () => {
  for (const scoreRows of [2, 4, 29]) {
    const { verdict, skill, order, sizes, folds, intervals } = reportOn(
      mlText({ scoreRows, ...WITH_INTERVALS }),
    );
    for (const { name, band } of verdict.tiles.slice(0, -1)) assert.equal(band, null, name);
    const said = sentencesIn([skill, order, sizes, intervals, folds]).join("\n");
    assert.doesNotMatch(said, /95\s%|more than chance|no evidence|worse than|agrees|best in/);
    assert.ok(order.data!.quantiles.every(({ band }) => band === null));
    assert.ok(sizes.data!.calibration.bins.every(({ band }) => band === null));
    assert.ok(skill.data!.ic.funnel.every(Number.isNaN));
  }
});

test("intervals are judged where they are narrow, since feedback alone makes adaptive ones cover the requested share", () => {
  const text = mlText({ ...WITH_INTERVALS, scoreRows: 300 });
  const document: OutputBlob = JSON.parse(text);
  const { by_volatility, joint_misses, pooled, other_methods } = document.metrics.intervals!;
  const { verdict, intervals } = reportOn(text);
  const share = (value: number | null) => figure(value, "share");
  const told = verdict.sentences.join(" ");
  assert.match(
    told,
    /on the quietest tenth of days, [\d.]+% on the most volatile\)\. Adaptive intervals reach/,
  );
  const { tenths, others, finding } = intervals.data!.volatility!;
  assert.deepEqual(
    tenths.map(({ n, coverage, meanWidth }) => [n, coverage, meanWidth]),
    by_volatility!.map(({ n, coverage, mean_width }) => [n, coverage, mean_width]),
  );
  assert.deepEqual(Object.keys(others), Object.keys(other_methods!));
  const [first, last] = [by_volatility![0]!.coverage, by_volatility![9]!.coverage];
  assert.ok(
    finding.includes(`Coverage was ${share(first)} on the tenth of days with the lowest volatility`),
    finding,
  );
  assert.ok(
    finding.includes(`${share(last)} on the tenth with the highest; nominal coverage is ${share(0.9)}`),
    finding,
  );
  assert.ok(
    finding.includes(`overall coverage of ${share(pooled.coverage)} follows in the long run by construction`),
  );
  assert.ok(joint_misses!.dates > 0);
  assert.ok(
    intervals.data!.misses.finding.endsWith(
      `On ${joint_misses!.half_missed} of ${joint_misses!.dates} dates, at least half of the tickers missed their interval.`,
    ),
  );
  const split = mlText({ scoreRows: 300, config: { intervals: { method: "split" } } });
  const other = reportOn(split);
  assert.doesNotMatch(other.verdict.sentences.join(" "), /Adaptive/);
  assert.doesNotMatch(other.intervals.data!.volatility!.finding, /feedback/);
});

test("an output without intervals has no misses, rather than 0", () => {
  for (const name of ["without intervals", "open"] as const) {
    for (const { misses, coverage } of reportOn(TEXTS[name]).tickers.data!.rows) {
      assert.deepEqual([misses, coverage], [null, null]);
    }
  }
});

test("mu is the largest first, with an older date if its row is before as_of", () => {
  const document: OutputBlob = JSON.parse(TEXTS.classical);
  const { bars, asOf } = reportOn(TEXTS.classical).mu.data!;
  assert.deepEqual(
    bars.map(({ mu }) => mu),
    Object.values(document.mu).sort((a, b) => b - a),
  );
  assert.equal(asOf, document.window.as_of);
  const { lower, upper } = document.forecasts[bars[0]!.ticker]!;
  assert.deepEqual([bars[0]!.lower, bars[0]!.upper], [lower.at(-1), upper.at(-1)]);
  const later = { ...document, window: { ...document.window, as_of: "2030-01-01" } };
  const older = reportOn(JSON.stringify(later)).mu.data!;
  assert.ok(older.bars.every(({ olderDate }) => olderDate === document.window.as_of));
  assert.match(older.finding, /8 forecasts from an earlier date/);
});

test("if shrinkage made every forecast 0, the section says why and has no chart of them", () => {
  const text = mlText({ skill: -0.5, config: { intervals: {}, shrinkage: "pooled" } });
  const document = JSON.parse(text) as OutputBlob;
  assert.ok(Object.values(document.mu).every((value) => value === 0));
  assert.ok(document.warnings.some(({ code }) => code === "negative_slope"));
  const report = reported(text);
  const html = forecastsSection.html(report)!;
  const { finding } = reportOn(text).mu.data!;
  assert.match(
    finding,
    /the forecasts of 8 tickers are all 0.*; .* Shrinkage multiplies the forecasts by 0, /,
  );
  assert.ok(finding.endsWith(typesetFigures(smallFactorOf(document)!)));
  assert.equal(html.match(/<svg[^>]*role="img"/g)?.length, 1, "only the intervals have a chart");
  assert.doesNotMatch(JSON.stringify(reportOn(TEXTS.classical).mu), /Shrinkage multiplies/);
});

test("folds and training are the output's", () => {
  const { folds, beside } = reportOn(TEXTS.classical).folds.data!;
  const document: OutputBlob = JSON.parse(TEXTS.classical);
  assert.deepEqual(
    folds.map(({ fold, tickers, n }) => [fold, tickers, n]),
    [1, 2, 3].map((fold) => [fold, 8, 160]),
  );
  for (const [j, { r2Zero }] of folds.entries()) {
    let [errors, squares] = [0, 0];
    for (const { predicted, realised } of Object.values(document.cross_validation!)) {
      for (let i = 20 * j; i < 20 * (j + 1); i++) {
        errors += (realised[i]! - predicted[i]!) ** 2;
        squares += realised[i]! ** 2;
      }
    }
    assert.ok(Math.abs(r2Zero! - (1 - errors / squares)) < 1e-12);
  }
  const r2 = beside.find(({ name }) => name === "R²")!;
  assert.deepEqual(
    [r2.outOfFold, r2.score],
    ["out_of_fold", "score"].map(
      (name) => document.verdict!.judged.find(({ rows }) => rows === name)!.sizes.against.zero.r2,
    ),
  );
  const { networks } = reportOn(TEXTS.network).training.data!;
  assert.deepEqual([networks.length, networks[0]!.bestEpoch, networks[0]!.trainLoss.length], [8, 4, 12]);
});

test("the same output gives the same data", () => {
  assert.deepEqual(reportedData(TEXTS.classical), reportedData(TEXTS.classical));
});
