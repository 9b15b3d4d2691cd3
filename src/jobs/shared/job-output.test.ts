import assert from "node:assert/strict";
import { test } from "node:test";
import type { RowsVerdict, Verdict } from "../../contract/output/verdict.ts";
import { runSummary } from "./job-output.ts";

const JOB = { model: "ridge", fit: "per_ticker", asOf: 20_000, tickers: [], failures: [{}, {}] } as const;

function verdict(order: Partial<RowsVerdict["order"]>, intervals: RowsVerdict["intervals"] = null): Verdict {
  const finding = { state: "none", dates: 250, t: null, quantile: null, sentence: "" } as const;
  const tested = { r2: 0.001, clark_west_t: 1, squared_error_t: 1 };
  const sizes = { ...finding, figure: 0.0005, informative: false, best_baseline: "mean" } as const;
  const judged: RowsVerdict = {
    rows: "score",
    order: { ...finding, figure: null, form: "cross_section", mean_figure: null, ...order },
    sizes: { ...sizes, against: { zero: tested, mean: { ...tested, r2: 0.0005 } } },
    intervals,
  };
  return { state: "none", rows: "score", title: "No evidence of skill", sentence: "", judged: [judged] };
}

test("a summary has the headline of the verdict", () => {
  const finding = { state: "evidence", dates: 250, t: 0, quantile: 1.7, sentence: "" } as const;
  const tables = { verdict: verdict({}, { ...finding, figure: 0.91, asked: 0.9 }) };
  assert.deepEqual(runSummary({ ...JOB, tables }).verdict, {
    ...{ state: "none", title: "No evidence of skill", rows: "score", dates: 250 },
    ...{ ic: null, ic_low: null, ic_high: null, r2: 0.001, coverage: 0.91, nominal_coverage: 0.9 },
  });
});

test("the figures at a later close are those of the score rows if the rows of the verdict have none", () => {
  const order = { delay: 1, dates: 250, ic_mean: 0.01, ic_t: 2, net_5bp: -3, net_5bp_t: -1.5 };
  const score = { by_delay: [order] } as never;
  const found = ["calibration", "out_of_fold"].map((rows) => {
    const { judged, ...headline } = verdict({});
    const set = { ...judged[0]!, rows } as RowsVerdict;
    return runSummary({ ...JOB, tables: { verdict: { ...headline, judged: [set] }, score } }).verdict!.later;
  });
  assert.deepEqual([found[0]?.ic, found[0]?.net_5bp, found[1]], [0.01, -3, undefined]);
  assert.ok(found[0]!.net_low! < -3 && found[0]!.net_high! > 0);
});
