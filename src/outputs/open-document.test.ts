import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { OutputBlob } from "../contract/output/output-blob.ts";
import { openSummary, readDocument } from "./open-document.ts";
import { mlText, outputDocument } from "./outputs.testing.ts";

const text = mlText({ tickers: ["A", "B"], fitRows: 120, scoreRows: 30, folds: 3 });

/** The output with a change, read from its text. */
function readChanged(change: (output: OutputBlob) => void) {
  const output: OutputBlob = JSON.parse(text);
  change(output);
  return readDocument("o", chunksOf(JSON.stringify(output)));
}

async function* chunksOf(json: string) {
  for (let at = 0; at < json.length; at += 1_000) yield Buffer.from(json.slice(at, at + 1_000));
}

test("the folds of a ticker are consecutive on its rows, and a ticker with fewer lacks the first numbers", async () => {
  const { outOfFold } = await readChanged(({ cross_validation }) => {
    const { dates, predicted, realised, folds } = cross_validation!.B!;
    const { n } = folds.shift()!;
    for (const list of [dates, predicted, realised]) list.splice(0, n);
  });
  const { cross_validation } = JSON.parse(text) as OutputBlob;
  assert.deepEqual(
    outOfFold!.map(({ ticker, folds }) => folds.map(({ number }) => `${ticker}${number}`)),
    [
      ["A1", "A2", "A3"],
      ["B2", "B3"],
    ],
  );
  for (const { ticker, folds } of outOfFold!) {
    const all = cross_validation![ticker]!.dates.slice(ticker === "A" ? 0 : 20);
    assert.deepEqual([folds[0]!.from, folds.at(-1)!.to], [0, all.length]);
    for (const { fold, from, to } of folds)
      assert.deepEqual([fold.test_start, fold.test_end], [all[from], all[to - 1]]);
  }
});

test("an output is read from its text as from its value, in whatever order its members are", async () => {
  const output: OutputBlob = JSON.parse(text);
  const { name, sha256, ...read } = await readChanged(() => undefined);
  const { name: _, sha256: __, ...expected } = outputDocument("o", "", output);
  assert.deepEqual(read, expected);
  const reversed = JSON.stringify(Object.fromEntries(Object.entries(output).reverse()));
  const { rows, outOfFold } = await readDocument("o", chunksOf(reversed));
  assert.deepEqual({ rows, outOfFold }, { rows: expected.rows, outOfFold: expected.outOfFold });
});

test("a summary reads only what precedes the forecasts, and another order too", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-summary-"));
  const path = join(folder, "ml_engine_1.json");
  const { document } = outputDocument("o", "", JSON.parse(text));
  const { cross_validation: _, fits: __, ...small } = document;
  writeFileSync(path, text.slice(0, text.indexOf('"forecasts":{') + 40));
  const reading = { policy: { allowed: [] } };
  assert.deepEqual(await openSummary(path, reading), small);
  const reversed = Object.fromEntries(Object.entries(JSON.parse(text)).reverse());
  writeFileSync(path, JSON.stringify(reversed));
  const { verdict, mu, model } = await openSummary(path, reading);
  assert.deepEqual({ verdict, mu, model }, { verdict: small.verdict, mu: small.mu, model: small.model });
  rmSync(folder, { recursive: true });
});

test("a document whose lists or folds do not fit together is refused, with the path", async () => {
  for (const [change, message] of [
    [
      ({ cross_validation }) => cross_validation!.B!.folds.pop(),
      /folds in cross_validation\.B\.folds do not add/,
    ],
    [({ forecasts }) => forecasts.A!.predicted.pop(), /forecasts\.A\.predicted has 29 values for 30 dates/],
    [({ forecasts }) => forecasts.B!.dates.reverse(), /forecasts\.B\.dates\[1\] does not come after/],
    [({ forecasts }) => (forecasts.B!.dates[3] = "2024-02-30"), /dates\[3\] is not a date: "2024-02-30"/],
    [({ forecasts }) => (forecasts.A!.predicted[2] = null as never), /predicted\[2\] is no number: null/],
    [({ forecasts }) => (forecasts.A!.lower = "x" as never), /forecasts\.A\.lower is not a list/],
  ] as const satisfies readonly (readonly [change: (output: OutputBlob) => unknown, message: RegExp])[])
    await assert.rejects(
      readChanged((output) => void change(output)),
      { code: "invalid_data", message },
    );
});
