import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { compareOutputs } from "./compare-outputs.ts";
import { Changes } from "./truncation.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-compare-"));
after(() => rmSync(folder, { recursive: true }));

const DATE = "2024-03-05";
const DATES = ["2024-03-01", "2024-03-04", DATE, "2024-03-06"];
const FOLDS = {
  folds: [{ test_end: "2024-02-01", rmse: 0.1 }],
  dates: ["2024-02-01"],
  predicted: [0.1],
  realised: [0.2],
  rmse: null,
};
const FORECASTS = {
  dates: DATES,
  predicted: [0.1, 0.2, 0.3, 0.4],
  realised: [0.01, null, 0.03, null],
  lower: [null, null, -1, -2],
  upper: [1, 2, 3, 4],
};

function upTo(n: number, { dates, predicted, realised, lower, upper }: typeof FORECASTS): typeof FORECASTS {
  return {
    dates: dates.slice(0, n),
    predicted: predicted.slice(0, n),
    realised: [...realised.slice(0, n - 1), null],
    lower: lower.slice(0, n),
    upper: upper.slice(0, n),
  };
}

/** Two tickers whose names are in code point order but not in UTF-16 order. */
const NAMES = ["A", "\uFF21", "\u{1F600}"];
const all = <T>(value: T) => Object.fromEntries(NAMES.map((name) => [name, value]));
const WHOLE = {
  schema: "x",
  mu: all(0.4),
  mu_dates: all(DATES[3]),
  forecasts: all(FORECASTS),
  fits: all({ fit_rows: 30, importances: [{ feature: "f", importance: 2 }] }),
  cross_validation: all(FOLDS),
  metrics: { score: 1 },
};
const CUT = {
  ...WHOLE,
  mu: all(0.3),
  mu_dates: all(DATE),
  forecasts: all(upTo(3, FORECASTS)),
  metrics: { score: 2 },
};

async function compare(cut: object, whole: object = WHOLE, delay = 0) {
  const paths = { whole: join(folder, "whole.json"), cut: join(folder, "cut.json") };
  writeFileSync(paths.whole, JSON.stringify(whole));
  writeFileSync(paths.cut, JSON.stringify(cut));
  const changes = new Changes();
  const found = await compareOutputs(
    { ...paths, date: DATE, delay },
    changes.add.bind(changes, DATE),
    new AbortController().signal,
  );
  return { ...found, findings: changes.findings() };
}

test("values dated up to the cut are equal although the blobs continue, and are counted", async () => {
  const { findings, tickers, forecasts, values } = await compare(CUT);
  assert.deepEqual(findings, []);
  assert.deepEqual({ tickers, forecasts }, { tickers: 3, forecasts: 9 });
  assert.equal(values, 3 * (4 * 3 + 3 + 6));
});

test("with a delay, the labels of that many more rows lie after the end of the cut blobs", async () => {
  const whole = { ...FORECASTS, realised: [0.01, 0.02, 0.03, null] };
  const cut = { ...upTo(3, whole), realised: [0.01, null, null] };
  const run = (delay: number) =>
    compare({ ...CUT, forecasts: all(cut) }, { ...WHOLE, forecasts: all(whole) }, delay);
  assert.deepEqual((await run(1)).findings, []);
  assert.equal((await run(0)).findings[0]!.evidence.at, "realised 2024-03-04");
});

type Part = "forecasts" | "cross_validation" | "fits";

/** Changes of one ticker's part of the output of the cut blobs, and where each is found. */
const CHANGED: readonly (readonly [what: string, part: Part, value: object, at: string, code?: string])[] = [
  [
    "a forecast, in its last bit",
    "forecasts",
    { predicted: [0.1, 0.2 + 2 ** -55, 0.3] },
    `predicted ${DATES[1]}`,
  ],
  ["a label that was known", "forecasts", { realised: [null, null, null] }, `realised ${DATES[0]}`],
  ["a label that is not known yet", "forecasts", { realised: [0.01, null, 0.04] }, `realised ${DATE}`],
  ["a row that is missing", "forecasts", upTo(2, FORECASTS), "dates"],
  ["a row too many", "forecasts", FORECASTS, "dates"],
  ["an end without a value", "forecasts", { lower: [null, null, null] }, `lower ${DATE}`, "interval_changed"],
  [
    "a fold",
    "cross_validation",
    { folds: [{ ...FOLDS.folds[0], rmse: 0.2 }] },
    "folds[0].rmse",
    "fold_changed",
  ],
  ["a fold that is missing", "cross_validation", { folds: [] }, "folds[0]", "fold_changed"],
  ["a metric that is null", "cross_validation", { rmse: 0 }, "rmse", "fold_changed"],
  ["the number of fit rows", "fits", { fit_rows: 31 }, "fit_rows", "fit_changed"],
];

for (const [what, part, value, at, code = "forecast_changed"] of CHANGED)
  test(`${what}, of a single ticker, is one finding`, async () => {
    const changed = { ...CUT[part].A, ...value };
    const { findings } = await compare({ ...CUT, [part]: { ...CUT[part], "\uFF21": changed } });
    assert.deepEqual(
      findings.map((found) => [found.code, found.ticker, found.evidence.at]),
      [[code, "\uFF21", at]],
    );
  });

test("a ticker in only one of the two is found, wherever it is in the order", async () => {
  for (const gone of NAMES) {
    const without = (blob: typeof WHOLE | typeof CUT) => {
      const parts = Object.entries({ ...blob, metrics: {}, schema: {} });
      const left = parts.map(([part, { [gone]: _, ...others }]: [string, Record<string, unknown>]) => [
        part,
        others,
      ]);
      return Object.fromEntries(left);
    };
    for (const { findings } of [await compare(without(CUT)), await compare(CUT, without(WHOLE))]) {
      const [{ code, ticker, severity } = assert.fail(), ...others] = findings;
      assert.deepEqual([code, ticker, severity, others], ["ticker_changed", gone, "medium", []]);
    }
  }
});

test("many differences of a ticker, its mu among them, are one finding with their number and the largest", async () => {
  const changed = { ...CUT.forecasts.A!, predicted: [0.1, 0.25, 0.4] };
  const { findings } = await compare({
    ...CUT,
    mu: { ...CUT.mu, A: 0.4 },
    forecasts: { ...CUT.forecasts, A: changed },
  });
  const { values, largest_difference } = findings[0]!.evidence;
  assert.deepEqual([findings.length, values], [1, 3]);
  assert.ok(Math.abs((largest_difference as number) - 0.1) < 1e-12);
  const [own] = (await compare({ ...CUT, mu: { ...CUT.mu, A: 0.25 } })).findings;
  assert.deepEqual([own!.code, own!.ticker, own!.evidence.at], ["forecast_changed", "A", `mu ${DATE}`]);
});
