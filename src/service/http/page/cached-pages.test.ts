import assert from "node:assert/strict";
import { test } from "node:test";
import { CachedPages } from "./cached-pages.ts";

test("a page is written once for each of the eight most recently requested origins", async () => {
  const written: string[] = [];
  const pages = new CachedPages((origin) => {
    written.push(origin);
    return `page of ${origin}`;
  });
  const at = (origin: string) => pages.for(origin, "127.0.0.1");
  assert.deepEqual((await Promise.all([at("a"), at("a"), at("b")])).map(String), [
    "page of a",
    "page of a",
    "page of b",
  ]);
  for (const origin of ["c", "d", "e", "f", "g", "h", "a", "i"]) await at(origin);
  assert.deepEqual(written, ["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
  await at("a");
  await at("b");
  assert.deepEqual(written.slice(9), ["b"], "b was asked for longest ago");
});
