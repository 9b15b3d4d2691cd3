/** Every warning code is raised by a job and its slow twin, and expected by a test. All are read as text, so that nothing has to run. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { WARNING_TABLE } from "../src/contract/problems/warnings.ts";

const CODES = Object.keys(WARNING_TABLE);

/** A job and everything that it imports. */
const FOLDERS = [
  "src/contract/config",
  "src/contract/model-params",
  "src/ingest",
  "src/panel",
  "src/evaluate",
  "src/engine",
  "src/jobs",
];

const COMMENT = /\/\*.*?\*\/|^\s*\/\/[^\n]*/gms;

/** A code in a place that makes a warning: `code: "few_rows"`, or the first argument of a function named `warn`. */
const RAISED = /(?:\bcode:\s*|\bwarn\(\s*)"(\w+)"/g;

function raisedIn(source: string): string[] {
  return [...source.replaceAll(COMMENT, "").matchAll(RAISED)].map(([, code]) => code!);
}

function textOf(files: readonly string[]): string {
  return files.map((file) => readFileSync(file, "utf8")).join("\n");
}

test("a code counts as raised if a warning is made with it, and not if it is only named", () => {
  const source = [
    'return [{ code: "few_rows", ticker }];',
    'warn(\n  "long_gap",\n  1,\n);',
    '/** Gives { code: "in_a_docstring" }. */',
    '  // code: "in_a_comment"',
    'if (state === "compared") return [];',
  ].join("\n");
  assert.deepEqual(raisedIn(source), ["few_rows", "long_gap"]);
});

test("a job raises every warning code", () => {
  const sources = globSync(FOLDERS.map((folder) => `${folder}/**/*.ts`)).filter(
    (file) => !/\.(test|testing)\.ts$/.test(file),
  );
  const raised = new Set(raisedIn(textOf(sources)));
  const never = CODES.filter((code) => !raised.has(code));
  assert.deepEqual(never, [], "codes of src/contract/problems/warnings.ts that no job raises");
});

test("a test of a job expects every warning code", () => {
  const tests = textOf(
    globSync([...FOLDERS.map((folder) => `${folder}/**/*.test.ts`), "test/end-to-end/**/*.test.ts"]),
  );
  const never = CODES.filter((code) => !new RegExp(`\\b${code}\\b`).test(tests));
  assert.deepEqual(never, [], "codes of src/contract/problems/warnings.ts that no test of a job names");
});

/** Codes that the slow twin does not raise, and the test that expects them of a whole job instead. */
const NOT_IN_TWIN: Partial<Record<keyof typeof WARNING_TABLE, string>> = {
  threads_capped: "regressors/failing-tickers.slow.test.ts",
  not_converged: "regressors/failing-tickers.slow.test.ts",
  unknown_loss_type: "networks/refused-network-jobs.slow.test.ts",
  disabled: "commands/network-command-line.slow.test.ts",
  ignored_section: "networks/refused-network-jobs.slow.test.ts",
  failed_refit: "regressors/refit-jobs.slow.test.ts",
  late_ticker: "networks/network-blocks.slow.test.ts",
  no_refit: "regressors/refit-jobs.slow.test.ts",
  thin_dates: "regressors/panel-settings.slow.test.ts",
  unpriced_dates: "field/dates.slow.test.ts",
  suspicious_price: "field/models-and-prices.slow.test.ts",
  uncoded_categories: "field/models-and-prices.slow.test.ts",
};

test("the slow twin raises every warning code, or a test expects it of a whole job", () => {
  const twin = textOf(globSync("test/end-to-end/twins/plain_*.py"));
  const lacking = CODES.filter((code) => {
    const file = NOT_IN_TWIN[code as keyof typeof WARNING_TABLE];
    const source = file === undefined ? twin : readFileSync(`test/end-to-end/${file}`, "utf8");
    return !new RegExp(`\\b${code}\\b`).test(source);
  });
  assert.deepEqual(lacking, []);
});
