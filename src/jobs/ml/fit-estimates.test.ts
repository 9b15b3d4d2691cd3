import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import { countFitsAtATime, workerBytes } from "./fit-estimates.ts";

const settingsOf = (params: object) =>
  parseMlSettings(JSON.stringify({ "ML params": { fit: "pooled", ...params } })).settings;

const SIZE = { rows: 1_000_000, columns: 50, hasAbsent: false };

test("a forest needs room for its trees at their largest size", () => {
  const forest = (params: object) =>
    workerBytes(SIZE, settingsOf({ model: "rf", model_params: { n_estimators: 100, ...params } }));
  const one = workerBytes(SIZE, settingsOf({ model: "rf", model_params: { n_estimators: 1 } }));
  assert.equal(forest({}) - one, 99 * 2 * 72 * SIZE.rows);
  const leaves = (params: object) => Math.round((forest({}) - forest(params)) / (100 * 2 * 72));
  assert.equal(leaves({ min_samples_leaf: 50 }), SIZE.rows - SIZE.rows / 50);
  assert.equal(leaves({ min_samples_leaf: 0.01 }), SIZE.rows - 100);
  assert.equal(leaves({ max_depth: 10 }), SIZE.rows - 1024);
  assert.equal(leaves({ max_leaf_nodes: 300 }), SIZE.rows - 300);
});

test("refuses a fit that is too large, with its bytes, those in use, the limit and the model", () => {
  const settings = settingsOf({ model: "ridge" });
  const needed = workerBytes(SIZE, settings);
  assert.equal(countFitsAtATime(SIZE, settings, { held: 5, limit: needed + 5 }), 1);
  assert.equal(countFitsAtATime(SIZE, settings, { held: 5, limit: 3 * needed }), 2);
  assert.throws(() => countFitsAtATime(SIZE, settings, { held: 6, limit: needed + 5 }), {
    code: "out_of_memory",
    message: /^one ridge for all tickers, on 1000000 rows and 50 columns, takes about 4\d\d MiB of memory/,
    data: {
      needed_bytes: needed,
      held_bytes: 6,
      limit_bytes: needed + 5,
      rows: SIZE.rows,
      columns: SIZE.columns,
    },
  });
});
