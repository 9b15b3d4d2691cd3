import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { smallFactorOf } from "../../contract/output/small-factor.ts";
import { dlText, mlText } from "../../outputs/outputs.testing.ts";
import { figure, typesetFigures } from "../../view/figures.ts";
import { page } from "../page.ts";
import { numberOf, panelsOn, reported, rowsOf, type SeenPanel } from "../reported.testing.ts";
import { figuresOfRows } from "./verdict.ts";

const WITH_INTERVALS = { config: { intervals: {} } };

const TEXTS = {
  classical: mlText(WITH_INTERVALS),
  network: dlText(WITH_INTERVALS),
  shrunk: mlText({ config: { intervals: { method: "split" }, shrinkage: "own" }, skill: 0.05 }),
  lower: mlText({ config: { intervals: { bound: "lower" } } }),
  upper: dlText({ config: { intervals: { bound: "upper" } } }),
  "without intervals": mlText({ config: { intervals: { enabled: false } } }),
  "candidates without folds": mlText({
    config: { choice: { candidates: [{ scaler: "standard" }] } },
    folds: 0,
  }),
  open: mlText({ isOpen: true, ...WITH_INTERVALS }),
  "open network": dlText({ isOpen: true, ...WITH_INTERVALS }),
  "two tickers": mlText({ tickers: ["A", "B"], ...WITH_INTERVALS }),
  "one ticker": mlText({ tickers: ["A"], ...WITH_INTERVALS }),
  "no folds": mlText({ folds: 0, ...WITH_INTERVALS }),
  "no tickers": mlText({ tickers: [] }),
  "few dates": mlText({ scoreRows: 5, ...WITH_INTERVALS }),
  "two rows": mlText({ scoreRows: 2, ...WITH_INTERVALS }),
  "one epoch": dlText({}, 1),
  disabled: dlText({
    config: { status: false },
    warnings: [{ code: "disabled", message: "status is false." }],
  }),
  "shrunk to 0": mlText({ skill: -0.5, config: { intervals: {}, shrinkage: "pooled" } }),
  "of an absurd size": mlText({ skill: 1e200, ...WITH_INTERVALS }),
  hostile: mlText({
    tickers: ["__proto__", "10", "<script>", "9", "constructor", "\u202eevil"],
    ...WITH_INTERVALS,
  }),
};

type Name = keyof typeof TEXTS;

const pages = new Map<string, string>();
/** @param text of an output, or the name of one. */
function pageOf(text: Name | string): string {
  const known = Object.hasOwn(TEXTS, text) ? TEXTS[text as Name] : text;
  if (!pages.has(known)) pages.set(known, page(reported(known)));
  return pages.get(known)!;
}

const panelOf = (text: Name | string, title: string) =>
  panelsOn(pageOf(text)).find((panel) => panel.title === title);
const outputOf = (name: Name): OutputBlob => JSON.parse(TEXTS[name]);

for (const name of Object.keys(TEXTS)) {
  test(`every panel has a whole sentence, and no figure that does not exist: ${name}`, () => {
    const html = pageOf(name);
    const main = html.slice(html.indexOf("<main>"), html.indexOf("</main>"));
    assert.doesNotMatch(
      main,
      /NaN|Infinity|undefined|\[object|\b1 (rows|dates|tickers|years|folds)\b|\d[ \n]%/,
    );
    for (const { title, sentence } of panelsOn(html)) assert.match(sentence, /^\S.*\.$/su, title);
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
    const { metrics, mu, verdict } = outputOf(name);
    const { pooled, cross_section: across } = metrics.score;
    // Of the verdict, which judges networks by held-out rows before there are 250 score dates.
    const on = verdict!.judged[0]!.rows === "calibration" ? "calibration" : "score";
    const judged = verdict!.judged.find(({ rows }) => rows === on)!;
    const { zero, mean } = judged.sizes.against;
    const { coverage } = metrics.intervals!.pooled;
    const expected = [
      judged.order.form === "cross_section" ? judged.order.figure : null,
      name === "two tickers" ? null : across.rank_ic_mean,
      ...[zero.r2, mean.r2, pooled.hit_rate, coverage, metrics.shrinkage!.by_date!.b],
    ];
    assert.deepEqual(
      figuresOfRows(reported(TEXTS[name]).outputs[0]!.whole).map(([, , value]) => value),
      expected.filter((value) => value !== null),
      name,
    );
    const table = /<table class="tickers">.*?<\/table>/s.exec(pageOf(name))![0];
    for (const [, key] of table.matchAll(/<tbody><tr>.*?<td data-v="([^"]+)"/gs))
      assert.ok(
        Object.values(mu).some((value) => Number(value.toPrecision(6)) === Number(key)),
        name,
      );
  }
});

test("missing parts are reported", () => {
  const absent = (name: Name, title: string) => panelOf(name, title)!.sentence;
  assert.match(absent("without intervals", "Intervals"), /made without intervals/);
  assert.match(
    absent("open", "Intervals"),
    /On 320 rows before the cut, the coverage of the same method was /,
  );
  assert.match(absent("two tickers", "Order"), /at least 5 of them; the output has 2/);
  assert.match(absent("no folds", "Folds"), /too short for a walk-forward fold/);
  assert.match(absent("disabled", "Forecasts"), /^No ticker/);
  assert.match(pageOf("disabled"), /disabled in its config/);
});

test("without a realised return, every section is drawn from the out-of-fold rows", () => {
  const { metrics, verdict } = outputOf("open");
  const { pooled, cross_section: across } = metrics.out_of_fold!;
  const [judged] = verdict!.judged;
  const html = pageOf("open");
  const values = rowsOf(/<table class="figures">.*?<\/table>/s.exec(html)![0]).map(([name, value]) => [
    name,
    value,
  ]);
  assert.deepEqual(values.slice(0, 6), [
    ["IC", figure(across.ic_mean, "ic")],
    ["RankIC", figure(across.rank_ic_mean, "ic")],
    ["R²", figure(judged!.sizes.against.zero.r2, "r2")],
    ["R² against the training mean", figure(judged!.sizes.against.mean.r2, "r2")],
    ["Hit rate", figure(pooled.hit_rate, "coverage")],
    [`Interval coverage, ${judged!.intervals!.dates} dates`, figure(judged!.intervals!.figure, "coverage")],
  ]);
  assert.match(html, new RegExp(`judged on ${pooled.n} out-of-fold rows`));
});

/** The returns of the lowest and the highest fifth on each date that has a date before it, by sorting its rows. */
function slowSpreads({ forecasts }: OutputBlob): number[] {
  const dates = new Map<string, { p: number; y: number }[]>();
  for (const { dates: days, predicted, realised } of Object.values(forecasts))
    for (const [i, day] of days.entries())
      dates.set(day, [...(dates.get(day) ?? []), { p: predicted[i]!, y: realised[i] ?? Number.NaN }]);
  const simple = (rows: readonly { y: number }[]) =>
    rows.reduce((sum, { y }) => sum + Math.exp(y) - 1, 0) / rows.length;
  // Fifths of eight tickers: by floor(5 (rank - 1/2) / 8), the first two and the last two.
  const spreads = [...dates.values()].map((rows) => {
    const sorted = rows.sort((a, b) => a.p - b.p);
    return simple(sorted.slice(-2)) - simple(sorted.slice(0, 2));
  });
  return spreads.slice(1).filter((spread) => !Number.isNaN(spread));
}

test("returns of fifths, their spread and the table by close have the same figures on the same dates", () => {
  const text = mlText({ skill: 0.2, scoreRows: 300 });
  const output: OutputBlob = JSON.parse(text);
  const [order] = output.metrics.score.by_delay!;
  const fifths = panelOf(text, "Return by fifth of the forecasts")!;
  assert.equal(fifths.rows.length, 5);
  assert.ok(fifths.rows.every(([, dates]) => numberOf(dates) === order!.dates));
  const spreads = slowSpreads(output);
  const sum = spreads.reduce((a, b) => a + b, 0);
  assert.equal(spreads.length, order!.dates);
  assert.ok(Math.abs((1e4 * sum) / spreads.length - order!.spread_mean!) < 1e-9);
  const { sentence, rows } = panelOf(text, "Top minus bottom fifth, cumulative")!;
  const [spread, net] = [order!.spread_mean!, order!.net_5bp!].map((points) => figure(points / 1e4, "mu"));
  assert.ok(sentence.includes(`over ${order!.dates} dates, ${spread} a day`), sentence);
  assert.ok(sentence.includes(`, ${net} a day. This is not a strategy.`), sentence);
  assert.equal(rows.at(-1)![2], figure(sum, "return"));
});

test("without smoothing, half-lives have the output's own figures by close; with it, fewer are replaced", () => {
  const text = mlText({ skill: 0.2, scoreRows: 300 });
  const { metrics }: OutputBlob = JSON.parse(text);
  for (const [step, close] of ["at the same close", "a close later"].entries()) {
    const { rows, sentence } = panelOf(text, `Net of costs by half-life, ${close}`)!;
    const { ic_mean, turnover, net_5bp } = metrics.score.by_delay![step]!;
    assert.deepEqual(
      [rows[0]![1], rows[0]![4], rows[0]![6]],
      [figure(ic_mean, "ic"), figure(turnover, "coverage"), figure(net_5bp! / 1e4, "mu")],
    );
    const shares = rows.map((row) => numberOf(row[4]));
    assert.deepEqual(
      shares,
      shares.toSorted((a, b) => b - a),
    );
    assert.ok(sentence.startsWith(`Traded ${close} at 5 bp`));
  }
  const has = (more: Parameters<typeof mlText>[0]) =>
    /Net of costs by half-life/.test(pageOf(mlText({ scoreRows: 60, ...more })));
  assert.deepEqual(
    [{ shrinkage: "own" }, { smoothing: { half_life: 2 } }, { shrinkage: "pooled" }].map((config) =>
      has({ config }),
    ),
    [false, false, true],
  );
  assert.equal(has({ tickers: ["A", "B", "C"] }), false);
});

test("the panel of exposures names the largest one, and the IC beyond all of them", () => {
  const output: OutputBlob = JSON.parse(mlText({ skill: 0.2, scoreRows: 300 }));
  const exposure = (name: "beta_252" | "return_21", correlation_mean: number) => {
    return { name, dates: 299, correlation_mean, correlation_t: 5 };
  };
  output.metrics.score.exposures = {
    ...{ dates: 290, ic_mean: 0.02, ic_t: 3, residual: { ic_mean: 0.011, ic_t: 1.2 } },
    by_exposure: [exposure("beta_252", 0.1), exposure("return_21", -0.4)],
  };
  assert.match(
    panelOf(JSON.stringify(output), "Exposure to prices")!.sentence,
    /in common with the return of the last 21 dates: a correlation of \u22120\.400\. The mean IC is \+0\.020, and \+0\.011 \(90\u202f% band \u22120\.006 to \+0\.028\) beyond beta/,
  );
});

test("a period of few dates is neither counted nor called the best or the worst", () => {
  const { sentence, rows } = panelOf(mlText({ scoreRows: 112 }), "IC by month and year")!;
  assert.match(sentence, /above 0 in \d of \d months with at least 10 dates, /);
  assert.match(sentence, /above 0 in \d of 1 year with at least 10 dates: [^ ]+ in 2015\.$/);
  assert.deepEqual(
    rows.slice(-2).map(([year]) => year),
    ["2015", "2016"],
  );
});

test("fewer than 30 dates have figures, and no band or judgement", () => {
  for (const scoreRows of [2, 4, 29]) {
    const text = mlText({ scoreRows, ...WITH_INTERVALS, folds: 1 });
    for (const [name, , , band] of figuresOfRows(reported(text).outputs[0]!.whole))
      assert.equal(band, null, name);
    const shown = panelsOn(pageOf(text)).filter(({ title }) =>
      /IC|Return|Top|Calibration|Coverage/.test(title),
    );
    for (const { sentence } of shown)
      assert.doesNotMatch(sentence, /95\s%|more than chance|no evidence|worse than|agrees/);
  }
});

test("coverage by volatility and year is the output's, beside the other method, and is not judged without a band", () => {
  const text = mlText({ ...WITH_INTERVALS, scoreRows: 300 });
  const { by_volatility, joint_misses, pooled }: NonNullable<OutputBlob["metrics"]["intervals"]> =
    JSON.parse(text).metrics.intervals;
  const share = (value: number | null) => figure(value, "share");
  const panel = panelOf(text, "Coverage by volatility")!;
  assert.deepEqual(
    panel.rows,
    by_volatility!.map(({ n, coverage, mean_width }, i) => [
      String(i + 1),
      String(n),
      share(coverage),
      share(mean_width),
    ]),
  );
  assert.match(panel.html, /<path class="bar second" d="M/);
  assert.doesNotMatch(pageOf(text), /class="bar bad"/);
  const [first, last] = [by_volatility![0]!, by_volatility![9]!];
  const found = `Coverage was ${share(first.coverage)} on the tenth of days with the lowest volatility and ${share(last.coverage)} on the tenth with the highest`;
  assert.ok(panel.sentence.startsWith(found));
  assert.ok(panel.sentence.includes(`${share(pooled.coverage)} follows in the long run by construction`));
  const years = panelOf(text, "Coverage by year")!.rows.map(([year, n]) => [year, numberOf(n)]);
  assert.deepEqual(
    years,
    Object.entries(pooled.by_year!).map(([year, { n }]) => [year, n]),
  );
  const missed = ` On ${joint_misses!.half_missed} of ${joint_misses!.dates} dates, at least half`;
  assert.ok(panelOf(text, "Misses and other interval methods")!.sentence.includes(missed));
  const older = JSON.parse(text);
  delete older.verdict;
  delete older.metrics.intervals.by_volatility;
  delete older.metrics.intervals.joint_misses;
  assert.equal(panelOf(JSON.stringify(older), "Coverage by volatility"), undefined);
});

test("mu is the largest first, with an older date if its row is before as_of", () => {
  const output = outputOf("classical");
  const { rows } = panelOf("classical", "Forecasts")!;
  const sorted = Object.entries(output.mu).sort(([, a], [, b]) => b - a);
  const { lower, upper } = output.forecasts[sorted[0]![0]]!;
  const cells = (panel: SeenPanel["rows"]) => panel.map(([ticker, mu]) => [ticker, mu]);
  assert.deepEqual(
    cells(rows),
    sorted.map(([ticker, mu]) => [ticker, figure(mu, "mu")]),
  );
  assert.deepEqual(rows[0]!.slice(2, 4), [figure(lower.at(-1), "mu"), figure(upper.at(-1), "mu")]);
  output.window = { ...output.window, as_of: "2030-01-01" };
  const older = panelOf(JSON.stringify(output), "Forecasts")!;
  assert.ok(older.rows.every((row) => row.at(-1) === outputOf("classical").window.as_of));
  assert.match(older.sentence, /8 forecasts from an earlier date/);
});

test("if shrinkage made every forecast 0, the section says why and has no chart of them", () => {
  const { sentence, html } = panelOf("shrunk to 0", "Forecasts")!;
  assert.match(
    sentence,
    /the forecasts of 8 tickers are all 0.*; .* Shrinkage multiplies the forecasts by 0, /,
  );
  assert.ok(sentence.endsWith(typesetFigures(smallFactorOf(outputOf("shrunk to 0"))!)));
  assert.doesNotMatch(html, /role="img"/);
});

test("folds are the output's", () => {
  const { rows } = panelOf("classical", "Walk-forward timeline")!;
  const { cross_validation } = outputOf("classical");
  for (const [j, row] of rows.entries()) {
    let [errors, squares] = [0, 0];
    for (const { predicted, realised } of Object.values(cross_validation!)) {
      for (let i = 20 * j; i < 20 * (j + 1); i++) {
        errors += (realised[i]! - predicted[i]!) ** 2;
        squares += realised[i]! ** 2;
      }
    }
    assert.deepEqual([row[0], ...row.slice(-2)], [String(j + 1), "160", figure(1 - errors / squares, "r2")]);
  }
});
