import assert from "node:assert/strict";
import { test } from "node:test";
import type { OrderFinding } from "../../contract/output/verdict.ts";
import { isImplausible } from "./skill-findings.ts";

function order(figure: number, t: number, dates: number, form: OrderFinding["form"] = "cross_section") {
  return {
    figure,
    t,
    dates,
    form,
    quantile: 1.7,
    state: "evidence",
    mean_figure: null,
    added_figure: null,
    added_t: null,
    sentence: "",
  } as const satisfies OrderFinding;
}

test("a job is implausible if its figure is beyond the limit by more than chance", () => {
  assert.ok(isImplausible(order(0.094, 8.7, 100)));
  assert.ok(!isImplausible(order(0.094, 5, 100)), "the error of this one is 0.019");
  assert.ok(!isImplausible(order(0.06, 40, 1_000)));
  // Fewer than five tickers have a higher limit.
  assert.ok(!isImplausible(order(0.075, 40, 1_000, "time_series")));
  assert.ok(isImplausible(order(0.15, 10, 1_000, "time_series")));
  assert.ok(!isImplausible({ ...order(0.5, 20, 100), figure: null, t: null }));
  assert.ok(!isImplausible({ ...order(0.5, 20, 20), quantile: null }));
});

test("an order that the training means have is not implausible, and one that forecasts add to them is", () => {
  const found = order(0.13, 8, 250);
  assert.equal(isImplausible({ ...found, added_figure: 0.01, added_t: 1 }), false);
  assert.equal(isImplausible({ ...found, added_figure: 0.12, added_t: 8 }), true);
});
