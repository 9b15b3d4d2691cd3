import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { groupsNamed, groupsOfPaths, RELEASE_GROUPS } from "./release-groups.ts";
import { testFiles } from "./test-tiers.ts";

const names = (changed: readonly string[]) => groupsOfPaths(changed).map(({ name }) => name);

/** Directly, or by a file beside it. */
function readsMatrix(file: string): boolean {
  const source = readFileSync(file, "utf8");
  const beside = [...source.matchAll(/ from "\.\/([\w.-]+)"/g)].map(([, name]) => join(dirname(file), name!));
  const sources = [source, ...beside.map((path) => readFileSync(path, "utf8"))];
  return sources.some((text) => /whole-matrix\.testing\.ts"/.test(text));
}

test("each file of the release tier, and each slow one with more cases there, is in exactly one group", () => {
  const { slow, release } = testFiles();
  const hasMore = slow.flat().filter(readsMatrix);
  const grouped = RELEASE_GROUPS.flatMap(({ processes }) => processes.flat());
  assert.deepEqual(grouped.sort(), [...release, ...hasMore].sort());
});

test("every path of a group exists", () => {
  const missing = RELEASE_GROUPS.flatMap(({ paths }) => paths.filter((path) => !existsSync(path)));
  assert.deepEqual(missing, []);
});

test("a change concerns the groups with its path or its test file; one of a lock or the set-up concerns every group", () => {
  assert.deepEqual(names(["CHANGELOG.md", "src/prepare/csv.ts"]), []);
  assert.deepEqual(names(["web/console.css"]), ["browser"]);
  assert.deepEqual(names(["src/service/http/page-routes.ts"]), [
    "openapi",
    "python-client",
    "browser",
    "services",
  ]);
  assert.deepEqual(names(["test/package.release.test.ts"]), ["package"]);
  for (const path of [
    "package-lock.json",
    "tools/browser/package-lock.json",
    "engine/requirements-dl.txt",
    "scripts/setup.mjs",
  ])
    assert.deepEqual(groupsOfPaths([path]), RELEASE_GROUPS, path);
});

test("finds groups by name, and refuses an unknown name", () => {
  assert.deepEqual(
    groupsNamed(["package", "docs"]).map(({ name }) => name),
    ["docs", "package"],
  );
  assert.throws(
    () => groupsNamed(["packages"]),
    /no release group is called packages; there are docs,openapi/,
  );
});
