/** Every interface shows the same figures of the order at the first close after the forecasts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { candidateOf, chooseOutputs } from "../src/choose/choose-outputs.ts";
import { candidateTable } from "../src/cli/terminal/candidate-table.ts";
import { outputTable } from "../src/cli/terminal/output-table.ts";
import { readOutput } from "../src/client/read-output.ts";
import type { OperationView } from "../src/contract/api/operation-view.ts";
import { closeTitle, laterFigures, orderBands } from "../src/contract/output/later-close.ts";
import { mlText, outputDocument } from "../src/outputs/outputs.testing.ts";
import { readForecast } from "../src/service/forecast/read-forecast.ts";
import { toolResult } from "../src/service/mcp/tool-result.ts";
import { runMetrics } from "../src/tracking/tracked-output.ts";

const TEXT = mlText({ fitRows: 400, scoreRows: 300, folds: 12, skill: 0.1 });
const output = readOutput(JSON.parse(TEXT));
const orders = output.metrics.score.by_delay!;
const later = laterFigures(orders)!;

async function* chunks() {
  yield Buffer.from(TEXT);
}

test("get_forecast and MCP have the entries of the output", async () => {
  const view = await readForecast("o.json", chunks(), { largest: 1 });
  assert.deepEqual(view.metrics.score.by_delay, orders);
  assert.deepEqual(view.metrics.out_of_fold!.by_delay, output.metrics.out_of_fold!.by_delay);
  const [content] = toolResult(view).content as { text: string }[];
  assert.ok(content!.text.includes(output.verdict!.later!));
});

test("the table of a terminal has the IC a close later and the spread after costs", () => {
  const shown = outputTable([{ name: "o", output, verdict: output.verdict, hitRateError: null }]);
  const { ic_mean, net_5bp } = orders[1]!;
  const { order, net } = orderBands(orders[1]!);
  const band = (low: string, high: string) => `\n  90 % band +${low} to ${high}\n`;
  const ic = band(order!.low.toFixed(4), order!.high.toFixed(4));
  assert.match(shown, new RegExp(`^order a close later +IC ${ic_mean!.toFixed(4)}${ic}`, "m"));
  const bp = band(net!.low.toFixed(1), net!.high.toFixed(1));
  assert.match(shown, new RegExp(`^  net of 5 bp a side +${net_5bp!.toFixed(1)} bp a day${bp}`, "m"));
});

test("the text of a run for agents has the figures of its summary", () => {
  const verdict = { ...{ state: "none", title: "No skill", rows: "score", dates: 300, later } };
  const summary = { model: "ridge", fit: "pooled", as_of: "2026-01-02", tickers: 8, failed: 0, verdict };
  const none = { ic: 0.01, ic_low: null, ic_high: null, r2: null, coverage: null, nominal_coverage: null };
  const operation = {
    ...{ id: "1", operation: "run_ml_job", status: "Succeeded", warnings: [], error: null },
    ...{
      result: { output_url: "u", output_name: "o" },
      summary: { ...summary, verdict: { ...none, ...verdict } },
    },
  } as unknown as OperationView;
  const [content] = toolResult(operation).content as { text: string }[];
  assert.match(content!.text, /Traded a close later: IC -?0\.\d+, the top fifth minus the bottom fifth -?\d/);
});

test("MLflow has every figure of every close by name", () => {
  const metrics = new Map(
    runMetrics(outputDocument("o", "", output)).map(({ name, points }) => [name, points[0]!.value]),
  );
  for (const { delay, ...figures } of orders) {
    for (const [name, value] of Object.entries(figures)) {
      assert.equal(metrics.get(`score/delay_${delay}/${name}`), value);
    }
  }
});

test("a choice among outputs has them beside the figures of the choice", () => {
  const document = outputDocument("o", "", output);
  const settings = { rule: "mean", measure: "ic", rows: "score" } as const;
  const candidate = candidateOf(document, settings);
  const chosen = chooseOutputs([candidate, { ...candidate, later: undefined }], settings);
  assert.deepEqual(
    chosen.candidates.map((each) => each.later),
    [later, undefined],
  );
  const lines = candidateTable(chosen).split("\n");
  assert.match(lines[0]!, /IC later +net later/);
  assert.ok(lines.some((line) => line.includes(` ${later.ic!.toFixed(4)} `)));
  assert.ok(lines.some((line) => line.startsWith("Later: traded a close later")));
});

test("every close of a job has a name", () => {
  assert.deepEqual([0, 1, 2, 7].map(closeTitle), [
    "At the same close",
    "A close later",
    "Two closes later",
    "Seven closes later",
  ]);
});
