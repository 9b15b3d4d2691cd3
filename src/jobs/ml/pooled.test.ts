import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import { ONE_BLOCK } from "../../panel/refit-blocks.ts";
import { planPooledFits } from "./pooled.ts";

const { settings } = parseMlSettings('{"ML params": {"model": "ridge", "fit": "pooled"}}');

test("a pooled fit without tickers, such as a candidate that compares too few, plans nothing", () => {
  const { fits, failures } = planPooledFits([], settings, ONE_BLOCK);
  assert.deepEqual({ fits, failures }, { fits: 0, failures: [] });
});
