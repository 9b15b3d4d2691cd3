/** The errors of plausible mistakes, with advice that fits the cause. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ERROR_TABLE, type ErrorCode } from "../contract/errors/error-codes.ts";
import { refusedCommand } from "./refused-command.testing.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-advice-"));
after(() => rmSync(folder, { recursive: true }));

const DATES = Array.from({ length: 60 }, (_, i) => new Date(Date.UTC(2024, 0, 1 + i)).toJSON().slice(0, 10));
const PRICES = DATES.map((_, i) => 100 + (i % 7));
const csv = (header: string, ...cells: string[]) =>
  [header, ...DATES.map((date, i) => [date, ...cells, PRICES[i]].join(","))].join("\n");
const features = (n: number, ticker = "A") => ({
  [ticker]: { dates: DATES.slice(0, n), rise: PRICES.slice(0, n) },
});
const prices = (window = {}, ticker = "A") => ({ ...window, dates: DATES, prices: { [ticker]: PRICES } });
const ml = (params: object) => ({ "ML params": { model: "ridge", ...params } });

mkdirSync(join(folder, "none"));
for (const [name, content] of Object.entries({
  "prices.csv": csv("date,A"),
  "empty.csv": "",
  "undated.csv": csv("A,B"),
  "unpriced.csv": csv("date,ticker,volume", "A"),
  "text.csv": csv("date,A").replace(",105", ",n.n."),
  "typo.json": ml({ model: "lightgbm", model_params: { n_estimatros: 9 } }),
  "key.json": ml({ n_split: 3 }),
  "model.json": ml({ model: "rigde" }),
  "ridge.json": ml({ n_splits: 2, cv_test_size: 5 }),
  "relative.json": ml({ fit: "pooled", target: "relative" }),
  "broken.json": '{"ML params": ',
  "empty.json": "",
  "output.json": '{"schema": "mucast.forecast/1"}',
  "f.json": features(60),
  "f-short.json": features(9),
  "p.json": prices(),
  "p-cut.json": prices({ Learning_end: "2030-01-01" }),
  "p-window.json": prices({ start: "2024-02-01", end: "2024-01-01" }),
  "p-other.json": prices({ start: "2030-01-01", end: "2031-01-01" }),
  "p-names.json": prices({}, "A.US"),
})) {
  writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
}

const prepare = (file: string, ...more: string[]) =>
  `prepare --prices ${folder}/${file} --out ${folder}/out`.split(" ").concat(more);
const job = (features: string, prices = "p.json", config = `${folder}/ridge.json`, ...more: string[]) =>
  `validate --feature-url ${folder}/${features} --data-extractor-url ${folder}/${prices} --config ${config}`
    .split(" ")
    .concat(more);
const config = (name: string, ...more: string[]) => job("f.json", "p.json", `${folder}/${name}`, ...more);

const MISTAKES: readonly [mistake: string, command: string[], code: ErrorCode, advice: RegExp][] = [
  ["an empty CSV", prepare("empty.csv"), "invalid_data", /^Write the file again: a header, and /],
  ["a CSV without dates", prepare("undated.csv"), "invalid_data", /is wide \(Date, .* docs\/prepare\.md/],
  ["a CSV without prices", prepare("unpriced.csv"), "invalid_data", /long \(Date, Ticker, Adj Close\)/],
  ["text in place of a price", prepare("text.csv"), "invalid_data", /at the place that the message names/],
  ["a file that is not there", prepare("nowhere.csv"), "blob_not_found", /^Check the URL or the path/],
  ["a folder in place of a table", prepare("none"), "blob_not_found", /^Name a file in the folder/],
  ["a blob in place of a table", prepare("f.json"), "invalid_data", /^Give an input blob to the job/],
  ["an unknown ticker", prepare("prices.csv", "--tickers", "B"), "invalid_request", /what the message/],
  ["a table in place of a blob", job("prices.csv"), "unreadable_blob", /`mucast prepare` writes/],
  ["a config in place of a blob", job("key.json"), "invalid_data", /`mucast prepare` writes/],
  ["an output in place of a blob", job("output.json"), "invalid_data", /`mucast prepare` writes/],
  ["prices in place of features", job("p.json"), "invalid_data", /`mucast prepare` writes/],
  ["exchanged blobs", job("p.json", "f.json"), "invalid_data", /^Exchange the two URLs/],
  ["an empty blob", job("empty.json"), "unreadable_blob", /^Write the input again/],
  ["a folder without blobs", job("none"), "invalid_request", /the --out folder of `mucast prepare`/],
  ["a cut after the end", job("f.json", "p-cut.json"), "invalid_data", /`Learning_end` of the blob, or /],
  ["a window that ends first", job("f.json", "p-window.json"), "invalid_data", /the message names/],
  ["a window without prices", job("f.json", "p-other.json"), "insufficient_history", /`start` and `end`/],
  ["no common ticker", job("f.json", "p-names.json"), "insufficient_history", /same names for its tickers/],
  ["too few rows", job("f-short.json"), "insufficient_history", /^Provide earlier prices, a later/],
  ["one ticker to compare", config("relative.json"), "few_tickers", /^Add tickers, or use a config that/],
  ["a date that is none", config("ridge.json", "--end", "soon"), "invalid_request", /--help/],
  ["no config", ["validate", "--feature-url", "f"], "invalid_request", /--help/],
  ["a config that is not there", config("nowhere"), "invalid_request", /or an example: pooled-/],
  ["a large file as config", job("f.json", "p.json", "/dev/zero"), "too_large", /^Name a file with a config/],
  ["a config that is broken JSON", config("broken.json"), "invalid_request", /what the message names/],
  ["a misspelt key", config("key.json"), "invalid_request", /^docs\/config\.md describes/],
  ["an unknown model", config("model.json"), "unknown_model", /^Use one of the listed names/],
  ["an unknown parameter", config("typo.json"), "invalid_model_params", /docs\/model-params\.md/],
  [
    "a folder without outputs",
    ["show", join(folder, "none")],
    "invalid_request",
    /^Run a job first, or name the folder/,
  ],
  [
    "an input in place of an output",
    ["show", join(folder, "f.json")],
    "unreadable_blob",
    /^Give an output of run_ml/,
  ],
  [
    "a table in place of an output",
    ["show", join(folder, "prices.csv")],
    "unreadable_blob",
    /^Name a file that mucast/,
  ],
];

for (const [mistake, command, code, advice] of MISTAKES) {
  test(`${mistake} gives ${code} and advice that fits`, async () => {
    const { code: exit, said } = await refusedCommand(command);
    assert.ok(said.startsWith(`error: ${code}: `), said);
    assert.equal(exit, ERROR_TABLE[code].exit);
    assert.match(said.trimEnd().split("\n  ").at(-1)!, advice, said);
  });
}
