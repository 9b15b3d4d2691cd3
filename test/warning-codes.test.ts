/** Every warning code is raised by a job and expected by a test. Both are read as text, so that nothing has to run. */
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
