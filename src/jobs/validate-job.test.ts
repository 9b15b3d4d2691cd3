import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ValidatedJob } from "./shared/job-preview.ts";
import { validateJob } from "./validate-job.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-validate-"));
after(() => rmSync(folder, { recursive: true }));

const TINY = "test/cases/tiny/data";
const CONFIG =
  '{"ML params": {"model": "ridge", "cv_test_size": 3, "n_splits": 5, "intervals": {"alpha": 0.2}}}';

/** Either one network per ticker, or one for all. */
const networks = (option: string, more: object = {}) =>
  JSON.stringify({ "NN params": { "Dot prediction": { "current option": option, ...more } } });

/** The tiny example: three tickers, 60 dates. */
interface Blobs {
  readonly prices: { start: string; end: string; dates: string[]; prices: Record<string, (number | null)[]> };
  readonly features: { dates: string[]; features: Record<string, Record<string, (number | null)[]>> };
}

function validate(change: (blobs: Blobs) => void = () => undefined, config = CONFIG): Promise<ValidatedJob> {
  const blobs: Blobs = {
    prices: JSON.parse(readFileSync(join(TINY, "data_extractor_tiny.json"), "utf8")),
    features: JSON.parse(readFileSync(join(TINY, "feature_engine_tiny.json"), "utf8")),
  };
  change(blobs);
  const [featureUrl, dataExtractorUrl] = [join(folder, "features.json"), join(folder, "prices.json")];
  writeFileSync(featureUrl, JSON.stringify(blobs.features));
  writeFileSync(dataExtractorUrl, JSON.stringify(blobs.prices));
  return validateJob(
    { featureUrl, dataExtractorUrl, config, id: "validate" },
    {
      workers: 1,
      policy: { allowed: [] },
      report: () => undefined,
      signal: new AbortController().signal,
    },
  );
}

function codes({ warnings }: ValidatedJob): string[] {
  return warnings.map(({ code, ticker }) => `${code} ${ticker ?? ""}`.trim());
}

test("a ticker without a column that the model's arguments name fails, and so does the job if no ticker has it", async () => {
  const config = (column: number) =>
    JSON.stringify({
      "ML params": { model: "lightgbm", model_params: { categorical_feature: [0, column] } },
    });
  const { tickers, error } = await validate(() => undefined, config(0));
  assert.ok(tickers.length > 1 && error === undefined);
  const least = Math.min(...tickers.map(({ features }) => features));
  const none = await validate(() => undefined, config(9_000));
  assert.equal(none.error?.code, "invalid_model_params");
  assert.deepEqual(none.tickers, []);
  const withoutOne = await validate(
    ({ features }) => {
      const [first] = Object.values(features.features);
      const [name] = Object.keys(first!);
      first![name!] = first![name!]!.map(() => null);
    },
    config(least - 1),
  );
  assert.equal(withoutOne.error, undefined);
  assert.deepEqual(
    withoutOne.failures.map(({ code }) => code),
    ["invalid_model_params"],
  );
});

test("tickers that can be forecast have rows and folds, and there is no error", async () => {
  const understanding = await validate();
  assert.ok(!("error" in understanding));
  assert.deepEqual(
    understanding.tickers.map(({ ticker, fit_rows, score_rows, folds, mu }) => [
      ticker,
      fit_rows,
      score_rows,
      folds,
      mu,
    ]),
    [
      ["ALFA", 46, 9, 5, true],
      ["BETA", 46, 9, 5, true],
      ["GAMA", 46, 9, 5, true],
    ],
  );
  assert.deepEqual(codes(understanding), ["warm_up_rows"]);
  assert.deepEqual(understanding.warnings[0], {
    code: "warm_up_rows",
    count: 3,
    message:
      "15 rows at the start of 3 tickers are left out because a feature has no value yet; ALFA loses the most, 5, because of ret_5.",
  });
  assert.equal(understanding.window.median_spacing_days, 1);
});

test("warns about tickers in only one blob, ascending by code point", async () => {
  const understanding = await validate(({ features: { features } }) => {
    for (const name of ["\u{1F600}", "\uFF21", "10"]) features[name] = features.BETA!;
    delete features.BETA;
  });
  assert.deepEqual(codes(understanding).slice(0, 4), [
    ...["no_prices 10", "no_features BETA", "no_prices \uFF21", "no_prices \u{1F600}"],
  ]);
});

/** Gives every ticker the features that `more` makes from its first one. */
const addFeatures =
  (more: (values: readonly (number | null)[]) => Readonly<Record<string, (number | null)[]>>) =>
  ({ features }: Blobs) => {
    for (const columns of Object.values(features.features)) {
      Object.assign(columns, more(Object.values(columns)[0]!));
    }
  };

test("warns of features of different scales if a penalty depends on scale and no scaler is set", async () => {
  const large = addFeatures((values) => ({
    large: values.map((value) => (value === null ? null : 1e6 * value)),
  }));
  const told = async (params: object, change = large) => {
    const config = JSON.stringify({ "ML params": { cv_test_size: 3, n_splits: 5, ...params } });
    return (await validate(change, config)).warnings.filter(({ code }) => code === "unscaled_features");
  };
  const [warning] = await told({ model: "ridge" });
  assert.equal(warning!.count, 3);
  assert.match(warning!.message, /: ALFA \(1\d{6} times\), BETA/);
  assert.equal((await told({ model: "lasso" })).length, 1);
  assert.equal((await told({ model: "elastic_net" })).length, 1);
  assert.deepEqual(await told({ model: "ridge", scaler: "standard" }), []);
  assert.deepEqual(await told({ model: "linear" }), []);
  assert.deepEqual(await told({ model: "ridge" }, () => undefined), []);
});

test("features that end a day early give the no_forecast error of the job", async () => {
  const { error, tickers } = await validate(({ features }) => {
    features.dates.pop();
    for (const columns of Object.values(features.features)) {
      for (const values of Object.values(columns)) values.pop();
    }
  });
  assert.equal(error?.code, "no_forecast");
  assert.deepEqual(error.data.ends_early, ["feature_url"]);
  assert.equal(tickers.length, 3, "their rows are counted all the same");
});

test("warns of an alpha that the folds cannot support before anything is fitted", async () => {
  const understanding = await validate(undefined, CONFIG.replace("0.2", "0.01").replace("5,", "9,"));
  assert.deepEqual(codes(understanding).slice(0, 2), ["fewer_folds ALFA", "interval_unsupported ALFA"]);
  assert.match(understanding.warnings[1]!.message, /15 residuals .* they support is 0\.0625\./);
});

test("counts the networks of all candidates of a choice", async () => {
  const candidates = [{ "current option": "portfolio_lstm" }, { data_processing: { lookback: 4 } }];
  const config = networks("mlp", { data_processing: { lookback: 3 }, choice: { candidates } });
  const { choice, error } = await validate(undefined, config);
  assert.equal(error, undefined);
  assert.deepEqual(choice, { candidates: 3, fits: 3 + 1 + 3 });
});

test("previews a joint network over the dates of all tickers, with what a ticker lacks", async () => {
  const drop = ({ features }: Blobs) => {
    const columns = features.features.BETA!;
    delete columns[Object.keys(columns)[0]!];
  };
  const config = networks("portfolio_lstm", { data_processing: { lookback: 3 }, intervals: { alpha: 0.01 } });
  const understanding = await validate(drop, config);
  assert.deepEqual(
    understanding.tickers.map(({ windows }) => windows?.train),
    [32, 32, 32],
  );
  assert.deepEqual(codes(understanding), [
    "interval_unsupported ALFA",
    "feature_absent BETA",
    "interval_unsupported BETA",
    "interval_unsupported GAMA",
    "warm_up_rows",
  ]);
});

test("a config that is switched off has no error, even if its networks would have too little to learn", async () => {
  const config = networks("lstm", { status: false, data_processing: { lookback: 11 } });
  const { error, failures } = await validate(undefined, config);
  assert.equal(error, undefined);
  assert.equal(failures.length, 3);
});

test("smoothing asks for more tickers only if some can be fitted", async () => {
  const smoothed = CONFIG.replace('"cv_test_size"', '"smoothing": {"half_life": 2}, "cv_test_size"');
  await assert.rejects(validate(undefined, smoothed), { code: "few_tickers" });
  const short = ({ prices }: Blobs) => {
    for (const values of Object.values(prices.prices)) values.fill(null, 25);
  };
  assert.equal((await validate(short, smoothed)).error?.code, "insufficient_history");
  const off = { status: false, smoothing: { half_life: 2 }, intervals: {} };
  assert.equal((await validate(undefined, networks("lstm", off))).error, undefined);
});
