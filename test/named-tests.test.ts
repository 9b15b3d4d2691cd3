import assert from "node:assert/strict";
import { globSync, readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";

const TESTS = new Set(
  globSync("{src,test,scripts,engine}/**/*.{test,testing}.ts").map((file) => basename(file)),
);

test("every test file that a page names exists", () => {
  const missing = readdirSync("docs").flatMap((page) => {
    const names = readFileSync(`docs/${page}`, "utf8").matchAll(
      /`(?:[\w-]+\/)*([\w-]+\.(?:test|testing)\.ts)`/g,
    );
    return [...names].flatMap(([, name]) => (TESTS.has(name!) ? [] : [`docs/${page}: ${name}`]));
  });
  assert.deepEqual(missing, []);
});
