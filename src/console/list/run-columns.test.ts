import assert from "node:assert/strict";
import { test } from "node:test";
import type { OperationView } from "../../client/index.ts";
import {
  dataName,
  matchesText,
  orderAfter,
  orderOf,
  RUN_COLUMNS,
  sortedRuns,
  TRADABLE_FIRST,
} from "./run-columns.ts";

function run(id: string, more: Partial<OperationView> = {}): OperationView {
  return {
    id,
    operation: "run_ml_job",
    status: "Succeeded",
    created_at: `2026-01-0${id}T08:30:00.000Z`,
    started_at: null,
    finished_at: null,
    progress: null,
    warnings: [],
    result: null,
    error: null,
    ...more,
  };
}

type Later = NonNullable<NonNullable<OperationView["summary"]>["verdict"]>["later"];

function judged(ic: number | null, more: Partial<OperationView> = {}, later?: Later) {
  const bands = { ic_low: null, ic_high: null, r2: null, coverage: null, nominal_coverage: null };
  const verdict = {
    state: "none",
    title: "No skill",
    rows: "score",
    dates: 30,
    ic,
    ...bands,
    ...(later && { later }),
  } as const;
  const summary = {
    model: "ridge",
    fit: "pooled",
    as_of: "2026-01-02",
    tickers: 5,
    failed: 0,
    verdict,
  } as const;
  return { summary, ...more };
}

const idsBy = (text: string, runs: readonly OperationView[]) =>
  sortedRuns(runs, orderOf(text)).map(({ id }) => id);

test("runs are sorted in both directions, and those without a value come last", () => {
  const runs = [run("4"), run("3", judged(-0.01)), run("2", judged(null)), run("1", judged(0.02))];
  assert.deepEqual(idsBy("-ic", runs), ["1", "3", "4", "2"]);
  assert.deepEqual(idsBy("ic", runs), ["3", "1", "4", "2"]);
  assert.deepEqual(idsBy("submitted", runs), ["1", "2", "3", "4"]);
  const named = (feature: string) => ({ inputs: { feature } });
  const files = [run("1", named("feature_engine_10.json")), run("2", named("feature_engine_9.json"))];
  assert.deepEqual(idsBy("data", files), ["2", "1"], "numbers in texts are numbers");
  const states = [run("1", { status: "Failed" }), run("2", { status: "NotStarted" }), run("3")];
  assert.deepEqual(idsBy("status", states), ["2", "3", "1"], "statuses have an order of their own");
});

test("by default, runs that go on come first, then those that earn most after costs a close later", () => {
  const ended = (net_5bp: number | null) =>
    judged(0.1, { finished_at: "2026-01-09T08:30:00.000Z" }, { delay: 1, ic: 0, net_5bp });
  const failed = { status: "Failed", finished_at: "2026-01-09T08:30:00.000Z" } as const;
  const runs = [
    run("6", failed),
    run("5", ended(null)),
    run("4", ended(-3)),
    run("3", { status: "Running" }),
    run("2", ended(1.5)),
  ];
  for (const text of ["nonsense", "-net"]) assert.deepEqual(idsBy(text, runs), ["3", "2", "4", "6", "5"]);
});

test("a run's data has the name that its two blobs share, otherwise both names", () => {
  const name = (feature?: string, data_extractor?: string) =>
    dataName(
      run("1", { inputs: { ...(feature && { feature }), ...(data_extractor && { data_extractor }) } }),
    );
  assert.equal(name("feature_engine_a_b.parquet", "data_extractor_a_b.parquet"), "a_b");
  assert.equal(
    name("feature_engine_1.json", "data_extractor_2.json"),
    "feature_engine_1.json, data_extractor_2.json",
  );
  assert.equal(name("feature_engine_1.json"), "feature_engine_1.json");
  assert.equal(name(), "");
});

test("a column sorts numbers from the largest and texts from A, then the reverse", () => {
  const column = (key: string) => RUN_COLUMNS.find((each) => each.key === key)!;
  assert.equal(orderAfter(TRADABLE_FIRST, column("ic")), "-ic");
  assert.equal(orderAfter("-ic", column("ic")), "ic");
  assert.equal(orderAfter("-ic", column("verdict")), "verdict");
  for (const { key } of RUN_COLUMNS) for (const text of [key, `-${key}`]) assert.equal(orderOf(text), text);
});

test("a run contains a text if it has each of its words", () => {
  const operation = run(
    "1",
    judged(0.1, { tags: ["Nightly", "a=b"], model: "ridge", warning_counts: { no_skill: 2 } }),
  );
  for (const text of ["", "nightly", "RIDGE a=b", "ml job", "pooled", "no_skill", "skill no", "succeeded"]) {
    assert.ok(matchesText(operation, text), text);
  }
  for (const text of ["weekly", "ridge weekly", "failed"]) assert.ok(!matchesText(operation, text), text);
});
