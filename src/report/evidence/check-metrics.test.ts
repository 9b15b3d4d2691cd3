import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import { dlText, mlText } from "../../outputs/outputs.testing.ts";
import { page } from "../page.ts";
import { reported } from "../reported.testing.ts";

type Json = null | string | number | boolean | Json[] | { [key: string]: Json };

/** The paths of all numbers in a part of a document. */
function numbersIn(part: Json, before: readonly string[] = []): (readonly string[])[] {
  if (typeof part === "number") return [before];
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([name, value]) => numbersIn(value, [...before, name]));
}

function refusal(document: Json): MucastError | undefined {
  try {
    reported(JSON.stringify(document));
    return undefined;
  } catch (error) {
    assert.ok(error instanceof MucastError, String(error));
    return error;
  }
}

/** The error for the document with another number at a path. */
function refusalOf(text: string, path: readonly string[], by: (value: number) => Json) {
  const document: Json = JSON.parse(text);
  const members = (part: Json) => part as { [key: string]: Json };
  const parent = members(path.slice(0, -1).reduce<Json>((part, name) => members(part)[name]!, document));
  const another = by(parent[path.at(-1)!] as number);
  parent[path.at(-1)!] = another;
  return { another, refused: refusal(document) };
}

const altered = (value: number) => (Number.isInteger(value) ? value + 1 : 1.001 * value + 1e-6);

const SMALL = { tickers: ["A", "B", "C"], fitRows: 100, scoreRows: 40, folds: 2, config: { intervals: {} } };

/** Members that forecasts do not determine. */
const UNTOLD = [
  /^metrics\.intervals\.(constants|other_methods)\./,
  /^metrics\.intervals\..*\b(high_volatility|by_volatility|prequential)\b/,
  /^metrics\.baselines\./,
  /\.by_delay\.\d\.order_(mean|t)$/,
  /\.exposures\./,
  /\.r2_mean$/,
];

test("a number in the metrics that does not follow from the forecasts is refused, with its name and both values", () => {
  const text = mlText(SMALL);
  // Another alpha gives other interval scores, and the first delay decides the others, so the error names these.
  const paths = numbersIn(JSON.parse(text).metrics, ["metrics"]).filter(
    (path) => path[2] !== "alpha" && path.at(-1) !== "delay",
  );
  assert.ok(paths.length > 200);
  const accepted: string[] = [];
  for (const path of paths) {
    const name = path.join(".");
    const { another, refused } = refusalOf(text, path, altered);
    if (refused === undefined) {
      accepted.push(name);
      continue;
    }
    const { path: found, value } = refused.data;
    assert.deepEqual([refused.code, found, value], ["invalid_data", name, another]);
    assert.ok(
      refused.message.includes(`its ${name} is ${another}, but its forecasts give `),
      refused.message,
    );
  }
  const told = accepted.filter((name) => !UNTOLD.some((pattern) => pattern.test(name)));
  assert.deepEqual(told, []);
  assert.ok(accepted.length > 0 && paths.length - accepted.length > 100);
});

test("a forecast, return, interval end or mu that does not match the metrics is refused", () => {
  for (const text of [mlText(SMALL), dlText(SMALL)]) {
    for (const member of ["predicted", "realised", "lower", "upper"]) {
      const far = refusalOf(text, ["forecasts", "B", member, "7"], (value) => value + 0.1).refused;
      assert.equal(far?.code, "invalid_data", member);
    }
    const { refused } = refusalOf(text, ["mu", "B"], (value) => value * 1.01);
    assert.match(refused!.message, /its mu\.B is .* but its forecasts give/);
  }
  const { refused } = refusalOf(
    mlText(SMALL),
    ["cross_validation", "B", "predicted", "3"],
    (value) => -value,
  );
  assert.match(
    refused!.message,
    /^output_1\.json cannot be reported: its (metrics\.out_of_fold|cross_validation)\./,
  );
});

test("null in place of a number, no mu, and a table without a ticker are refused", () => {
  const { refused } = refusalOf(mlText(SMALL), ["metrics", "score", "pooled", "rmse"], () => null);
  assert.match(refused!.message, /its metrics\.score\.pooled\.rmse is null, but its forecasts give 0\.0/);
  const without = JSON.parse(mlText(SMALL));
  const { B } = without.mu;
  delete without.mu.B;
  assert.match(refusal(without)!.message, /: B has a forecast of [\d-]+, but no mu$/);
  without.mu.B = B;
  delete without.metrics.score.by_ticker.B;
  assert.match(refusal(without)!.message, /B in metrics\.score\.by_ticker has forecasts, but no figures/);
});

test("an output of a version with fewer figures is reported without them", () => {
  const older = JSON.parse(mlText(SMALL));
  delete older.fits;
  delete older.mu_dates;
  delete older.machine;
  delete older.metrics.shrinkage;
  delete older.metrics.score.r2_zero_median;
  delete older.metrics.score.cross_section.ic_t_newey_west;
  delete older.metrics.intervals.other_methods;
  delete older.metrics.intervals.by_volatility;
  delete older.metrics.intervals.joint_misses;
  const { pooled, by_ticker } = older.metrics.intervals;
  for (const table of [pooled, ...Object.values<Record<string, unknown>>(by_ticker)]) {
    for (const name of ["by_year", "worst_250", "interval_score", "high_volatility", "prequential"]) {
      delete table[name];
    }
  }
  assert.equal(refusal(older), undefined);
  assert.doesNotMatch(page(reported(JSON.stringify(older))), /Earlier date<\/th>.*<td>\d{4}|by volatility/i);
});

test("a verdict that does not follow from the forecasts is refused, whatever its words", () => {
  const text = mlText({ ...SMALL, tickers: ["A", "B", "C", "D", "E"], scoreRows: 60 });
  for (const path of [
    ...["verdict.judged.0.order.figure", "verdict.judged.1.sizes.against.zero.r2"],
    "metrics.score.by_delay.1.net_5bp",
  ])
    assert.equal(refusalOf(text, path.split("."), altered).refused?.data.path, path);
  for (const [name, value] of [
    ["state", "skill"],
    ["rows", "score"],
  ] as const) {
    const lying = JSON.parse(text);
    lying.verdict.title = "Other words";
    assert.equal(refusal(lying), undefined);
    lying.verdict[name] = value;
    const { message } = refusal(lying)!;
    assert.ok(message.includes(`its verdict.${name} is "${value}", but its forecasts give`), message);
  }
});
