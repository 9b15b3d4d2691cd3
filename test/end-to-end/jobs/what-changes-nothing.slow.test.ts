/**
 * What must not change a number: the future, the order of tickers and dates, the layout of the blobs, the number of workers. Compared as
 * bytes.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { otherLayouts } from "../markets/blob-layouts.ts";
import { corruptedAfter, upTo } from "../markets/corrupted-market.ts";
import { dirtyMarket } from "../markets/dirty-market.ts";
import { cleanMarket, type Market } from "../markets/market.ts";
import { marketTables } from "../markets/market-tables.ts";
import { Seeded } from "../markets/seeded.ts";
import {
  type BlobPair,
  type JobRun,
  removeFolders,
  runJob,
  withoutIdentity,
  withoutProvenance,
  writeMarket,
  writeTexts,
} from "./job-runs.ts";

const RIDGE = '{"ML params": {"model": "ridge", "n_splits": 4, "intervals": {}}}';
/** Trees, whose splits depend on the order of columns, in the library with the fastest import. */
const TREES = `{"ML params": {"model": "catboost", "n_splits": 3, "intervals": {"alpha": 0.2},
  "model_params": {"iterations": 8, "depth": 4, "rsm": 0.6}}}`;

let dirty: BlobPair;
before(async () => {
  dirty = await writeMarket(dirtyMarket({ learningEnd: true }));
});
after(removeFolders);

describe("the future", { concurrency: 2 }, () => {
  const faulty = ["faulty", dirtyMarket({ learningEnd: true }), "2021-11-15"] as const;
  const clean = ["clean", cleanMarket("2021-10-29"), "2021-11-01"] as const;
  const ridge = ["ridge", RIDGE] as const;
  const trees = ["catboost", TREES] as const;
  for (const [name, market, last] of WHOLE_MATRIX ? [faulty, clean] : [faulty]) {
    for (const [model, config] of WHOLE_MATRIX ? [ridge, trees] : [trees]) {
      test(`${name} blobs corrupted after a day past the cut leave everything earlier unchanged (${model})`, async () => {
        const one = await runJob(await writeMarket(market), config);
        const other = await runJob(await writeMarket(corruptedAfter(last, market)), config);
        assert.equal(upTo(last, other.output), upTo(last, one.output));
        assert.ok(upTo(last, one.output).includes(last), "something is dated on the last day");
        assert.notDeepEqual(other.output.forecasts, one.output.forecasts, "something changed after it");
      });
    }
  }
});

describe("the same blobs written differently", { concurrency: 2 }, () => {
  test("with their tickers and dates in another order", async () => {
    const market = dirtyMarket({ learningEnd: true });
    const random = new Seeded(5);
    const [priceOrder, featureOrder] = [market.priceDates, market.featureDates].map((dates) =>
      random.shuffle([...dates.keys()]),
    );
    const reordered = <T>(order: readonly number[], cells: readonly T[]) => order.map((i) => cells[i]!);
    const shuffled: Market = {
      bounds: market.bounds,
      priceDates: reordered(priceOrder!, market.priceDates),
      prices: new Map(
        random.shuffle([...market.prices]).map(([t, cells]) => [t, reordered(priceOrder!, cells)]),
      ),
      featureDates: reordered(featureOrder!, market.featureDates),
      features: new Map(
        random
          .shuffle([...market.features])
          .map(([t, columns]) => [
            t,
            new Map([...columns].map(([name, cells]) => [name, reordered(featureOrder!, cells)])),
          ]),
      ),
    };
    const one = await runJob(dirty, TREES);
    const other = await runJob(await writeMarket(shuffled), TREES);
    assert.equal(
      withoutProvenance(other.text).replaceAll(/mucast-e2e-\w+/g, ""),
      withoutProvenance(one.text).replaceAll(/mucast-e2e-\w+/g, ""),
    );
  });

  const market = cleanMarket("2021-10-29");
  let canonical: Promise<JobRun> | undefined;
  for (const [layout, features, prices] of otherLayouts(market)) {
    test(`as ${layout}`, async () => {
      canonical ??= writeMarket(market).then((pair) => runJob(pair, TREES));
      const other = await runJob(await writeTexts(features, prices), TREES);
      assert.equal(withoutProvenance(other.text), withoutProvenance((await canonical).text));
    });
  }

  test("as Parquet tables", async () => {
    canonical ??= writeMarket(market).then((pair) => runJob(pair, TREES));
    const { features, prices } = marketTables(market);
    const other = await runJob(await writeTexts(features, prices), TREES);
    assert.equal(withoutProvenance(other.text), withoutProvenance((await canonical).text));
  });
});

describe("the number of workers", { concurrency: 2 }, () => {
  const models = [
    ["random_forest", '"model_params": {"n_estimators": 6, "max_features": 1, "bootstrap": true}'],
    ["xgboost", '"model_params": {"n_estimators": 6, "subsample": 0.5}'],
    ["lightgbm", '"model_params": {"n_estimators": 6, "subsample": 0.5, "subsample_freq": 1}'],
    ["lasso", '"model_params": {"alpha": 0.0001, "selection": "random"}'],
  ] as const;
  for (const [model, params] of WHOLE_MATRIX ? models : models.slice(0, 1)) {
    test(`changes no byte of ${model}`, async () => {
      const config = `{"ML params": {"model": "${model}", "n_splits": 3, ${params}}}`;
      // Other files use the engine with three workers, too.
      const [one, three] = [await runJob(dirty, config, 1), await runJob(dirty, config, 3)];
      assert.equal(withoutIdentity(three.text), withoutIdentity(one.text));
    });
  }
});
