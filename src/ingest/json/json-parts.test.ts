import assert from "node:assert/strict";
import { test } from "node:test";
import {
  byName,
  completely,
  last,
  member,
  members,
  type Read,
  readParts,
  scalar,
  scalars,
} from "./json-parts.ts";

/** Reads a document that comes byte by byte. */
function readText<T>(value: unknown, read: Read<T>): Promise<T> {
  const bytes = Buffer.from(JSON.stringify(value));
  async function* chunks() {
    for (const byte of bytes) yield Uint8Array.of(byte);
  }
  return readParts({ name: "x.json", chunks: chunks() }, read);
}

test("only the named members are kept, in any order, with those below them", async () => {
  const document = { other: [{ a: 1 }], b: { c: "x", d: { e: 1 }, f: null }, a: true, __proto__x: 1 };
  const found = await readText(document, members({ a: scalar, b: scalars, none: scalar }));
  assert.deepEqual(found, { b: { c: "x", f: null }, a: true });
});

test("a value of another kind than the wanted one is skipped to its end", async () => {
  const document = { a: [[1, { b: 2 }], 3], b: { x: [1, 2] }, c: [[1], { y: 2 }, "z"], d: [1], e: "end" };
  const shape = { a: scalars, b: scalar, c: last(scalar), d: byName(scalar), e: scalar };
  const found = await readText(document, members(shape));
  assert.deepEqual(found, { a: null, c: "z", d: new Map(), e: "end" });
  assert.equal(await readText([[1, [2]]], members(shape)), null);
});

test("a member is read without what follows it", async () => {
  async function* chunks() {
    yield Buffer.from('{"a":[{"b":1}],"b":{"c":2},');
    throw new Error("read on");
  }
  const read = member("b", members({ c: scalar }));
  assert.deepEqual(await readParts({ name: "x.json", chunks: chunks() }, read), { c: 2 });
  assert.equal(await readText({ a: 1 }, read), undefined);
});

test("a value is read completely, unless it is larger than its budget", async () => {
  const value = { a: [1, "bc", [null, { d: true }]], e: {} };
  assert.deepEqual(await readText(value, completely({ values: 9, letters: 5 })), value);
  assert.equal(await readText(value, completely({ values: 8, letters: 5 })), undefined);
  assert.equal(await readText(value, completely({ values: 9, letters: 4 })), undefined);
});

test("names of members of every object are names like others", async () => {
  const text = '{"__proto__":1,"constructor":2}';
  async function* chunks() {
    yield Buffer.from(text);
  }
  const found = await readParts({ name: "x.json", chunks: chunks() }, byName(scalar));
  assert.deepEqual(
    [...found],
    [
      ["__proto__", 1],
      ["constructor", 2],
    ],
  );
});
