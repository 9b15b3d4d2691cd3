import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { mlText } from "../../outputs/outputs.testing.ts";
import { reported } from "../reported.testing.ts";
import { halfLifePanels } from "./half-lives.ts";

const TEXT = mlText({ skill: 0.2, scoreRows: 300 });

function panelsOf(text: string) {
  return halfLifePanels(reported(text).outputs[0]!.common);
}

/** The cells of each row of a panel's numbers. */
function rowsOf(numbers = ""): string[][] {
  const cells = (row: string) => [...row.matchAll(/<t[hd][^>]*>(?:<bdi>)?([^<]*)/g)].map(([, cell]) => cell!);
  return numbers.split("<tr>").slice(2).map(cells);
}

test("without smoothing, the panels have the output's own figures by close; with it, fewer are replaced", () => {
  const { metrics }: OutputBlob = JSON.parse(TEXT);
  for (const [step, { numbers, finding }] of panelsOf(TEXT).entries()) {
    const { ic_mean, turnover, net_5bp } = metrics.score.by_delay![step]!;
    const rows = rowsOf(numbers);
    assert.deepEqual(
      rows.map(([halfLife]) => halfLife),
      ["0", "1", "2", "3", "5", "10"],
    );
    const number = (text: string) => Number(text.replace("\u2212", "-").replace(/[^-\d.]/g, ""));
    const [, ic, , replaced, , net] = rows[0]!.map(number);
    assert.ok(Math.abs(ic! - ic_mean!) < 6e-4 && Math.abs(net! - net_5bp!) < 0.06);
    assert.ok(Math.abs(replaced! - 100 * turnover!) < 0.06);
    const shares = rows.map((row) => number(row[3]!));
    assert.deepEqual(
      shares,
      shares.toSorted((a, b) => b - a),
    );
    assert.match(finding, step === 0 ? /^Traded at the same close at 5 bp/ : /^Traded a close later at 5 bp/);
  }
  assert.equal(panelsOf(TEXT).length, 2);
});

test("there is no panel for a smoothed output, none with a factor by ticker, and none for three tickers", () => {
  for (const [shrinkage, panels] of [
    ["pooled", 2],
    ["own", 0],
    ["empirical_bayes", 0],
  ] as const)
    assert.equal(panelsOf(mlText({ skill: 0.2, scoreRows: 300, config: { shrinkage } })).length, panels);
  assert.deepEqual(panelsOf(mlText({ scoreRows: 60, config: { smoothing: { half_life: 2 } } })), []);
  assert.deepEqual(panelsOf(mlText({ scoreRows: 60, tickers: ["A", "B", "C"] })), []);
});
