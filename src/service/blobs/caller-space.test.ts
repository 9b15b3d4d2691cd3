import assert from "node:assert/strict";
import { test } from "node:test";
import { checkSpace, spaceIn, withSpace } from "../../blob/names.ts";
import { spaceOf } from "./blobs.ts";

test("no two subjects share a space, even without regard to letter case", () => {
  const odd = [
    "..",
    "../../etc",
    "a/b",
    "A",
    "a",
    "",
    " ",
    "a ",
    "é",
    "e\u0301",
    "\ud800",
    "\ud801",
    "%2e%2e",
    "\0",
  ];
  const subjects = [
    "local",
    "key:0123456789abcdef",
    "key:0123456789abcdeF",
    "key:0123456789ABCDEF",
    ...odd.flatMap((text) => [`oidc:${text}`, `key:${text}`]),
    "oidc:key:0123456789abcdef",
    "oidc:local",
    `oidc:${"x".repeat(100_000)}`,
    `oidc:${"x".repeat(100_001)}`,
  ];
  const spaces = subjects.map(spaceOf);
  assert.equal(new Set(spaces.map((space) => space.toLowerCase())).size, subjects.length);
  for (const space of spaces) {
    assert.match(space, /^[a-z0-9-]{0,68}$/);
    assert.equal(checkSpace(space), space);
  }
  assert.deepEqual([spaceOf("local"), spaceOf("key:0123456789abcdef")], ["", "key-0123456789abcdef"]);
});

test("only the space of a caller counts as a space", () => {
  for (const path of [
    "..",
    "../x",
    "data",
    "key-0123",
    "KEY-0123456789abcdef",
    "sub-x",
    "key-0123456789abcdef2",
  ]) {
    assert.equal(spaceIn(`${path}/data/x`), undefined, path);
    assert.throws(() => checkSpace(path), /is not the space of a caller/, path);
  }
});

test("the BLOB_URL of a space keeps its signature", () => {
  const space = "key-0123456789abcdef";
  for (const [blobUrl, wanted] of [
    ["https://a.example/c", `https://a.example/c/${space}`],
    ["https://a.example/c/?sv=1&sig=x?y", `https://a.example/c/${space}?sv=1&sig=x?y`],
    ["file:///mnt/blobs", `file:///mnt/blobs/${space}`],
    ["/mnt/odd?name", `/mnt/odd?name/${space}`],
  ] as const) {
    assert.equal(withSpace(blobUrl, space), wanted);
    assert.equal(withSpace(blobUrl, ""), blobUrl);
  }
});
