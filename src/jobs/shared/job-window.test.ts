import assert from "node:assert/strict";
import { test } from "node:test";
import { requestedWindow } from "../../contract/config/payload-schemas.ts";
import { parseDay } from "../../contract/market/dates.ts";
import { jobWindow } from "./read-inputs.ts";

const START = parseDay("2020-01-02")!;
const CUT = parseDay("2020-09-30")!;

test("the request adds bounds that the blob does not say", () => {
  const requested = requestedWindow({ start: "2020-01-02", learning_end: "2020-09-30" });
  assert.deepEqual(jobWindow({ end: 20_000 }, requested, "p.parquet"), {
    start: START,
    end: 20_000,
    learningEnd: CUT,
  });
  assert.deepEqual(jobWindow({ learningEnd: CUT }, requested, "p.json"), { start: START, learningEnd: CUT });
  assert.deepEqual(jobWindow({ start: START }, undefined, "p.json"), { start: START });
  assert.equal(requestedWindow({}), undefined);
});

test("a bound that differs from the blob's own is refused, with the name of both", () => {
  const requested = requestedWindow({ start: "2020-01-02", learning_end: "2020-09-30" });
  assert.throws(() => jobWindow({ start: START + 1, learningEnd: CUT + 1 }, requested, "p.json"), {
    code: "invalid_request",
    message:
      /start: is 2020-01-02, but start in p\.json is 2020-01-03.*learning_end: is 2020-09-30, but Learning_end in p\.json is 2020-10-01/s,
  });
});
