import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { MucastError } from "../../contract/errors/errors.ts";
import { cut, cuts, sourceOf } from "../chunks.testing.ts";
import { checkEncoding } from "../read-blob.ts";
import { ByteWindow } from "./byte-window.ts";
import { Doubles } from "./doubles.ts";
import { JsonReader, Token } from "./json-reader.ts";

type Json = number | string | boolean | null | Json[] | { [key: string]: Json };

/** Builds the value of the next token in the plain way; arrays use the fast loop as far as possible. */
function* build(json: JsonReader, token: Token): Generator<undefined, Json, void> {
  if (token === Token.string) return json.text;
  if (token === Token.number) return json.number;
  if (token === Token.null) return null;
  if (token === Token.true || token === Token.false) return token === Token.true;
  if (token === Token.arrayStart) return yield* buildArray(json);
  assert.equal(token, Token.objectStart);
  const members: [string, Json][] = [];
  for (let next = yield* json.take(); next !== Token.objectEnd; next = yield* json.take()) {
    assert.equal(next, Token.key);
    const key = json.text;
    members.push([key, yield* build(json, yield* json.take())]);
  }
  return Object.fromEntries(members);
}

function* buildArray(json: JsonReader): Generator<undefined, Json, void> {
  const items: Json[] = [];
  const numbers = new Doubles(1);
  for (;;) {
    const token = json.numbers(numbers);
    if (token === Token.more) {
      yield;
      continue;
    }
    items.push(...numbers.copy());
    numbers.clear();
    if (token === Token.arrayEnd) return items;
    items.push(yield* build(json, yield* json.take()));
  }
}

async function run<T>(
  chunks: readonly Uint8Array[],
  read: (json: JsonReader) => Generator<undefined, T, void>,
) {
  const window = new ByteWindow(sourceOf(chunks));
  const json = new JsonReader(window);
  const steps = (function* () {
    yield* checkEncoding(window);
    const value = yield* read(json);
    assert.equal(yield* json.take(), Token.end);
    return value;
  })();
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    await window.refill();
  }
}

const parse = (chunks: readonly Uint8Array[]) =>
  run(chunks, function* (json) {
    return yield* build(json, yield* json.take());
  });
const skip = (chunks: readonly Uint8Array[]) =>
  run(chunks, function* (json) {
    yield* json.skip();
    return undefined;
  });

/** The result of JSON.parse, with numbers that it cannot represent as missing, and likewise null in an array. */
function oracle(bytes: Uint8Array): Json {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  return normal(JSON.parse(text) as Json);
}

function normal(value: Json): Json {
  if (typeof value === "number") return Number.isFinite(value) ? value : Number.NaN;
  if (Array.isArray(value)) return value.map((item) => (item === null ? Number.NaN : normal(item)));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, normal(item)]));
}

/** JSON.parse accepts half a surrogate pair, which no text can contain. */
function hasHalfPair(value: Json): boolean {
  if (typeof value === "string") return !value.isWellFormed();
  if (Array.isArray(value)) return value.some(hasHalfPair);
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, item]) => !key.isWellFormed() || hasHalfPair(item));
}

async function unreadableAt(bytes: Uint8Array, offset?: number): Promise<void> {
  for (const read of [parse, skip]) {
    await assert.rejects(read([bytes]), (error: unknown) => {
      assert.ok(error instanceof MucastError, String(error));
      assert.equal(error.code, "unreadable_blob");
      assert.equal(error.data.source, "blob.json");
      assert.ok(error.data.offset! <= bytes.length);
      if (offset !== undefined)
        assert.equal(error.data.offset, offset, `${error.message}: ${Buffer.from(bytes)}`);
      return true;
    });
  }
}

const document = fc
  .tuple(fc.jsonValue({ stringUnit: "binary", maxDepth: 4 }), fc.constantFrom(undefined, 1, "\t"))
  .map(([value, indent]) => Buffer.from(JSON.stringify(value, undefined, indent)));

describe("the JSON reader", () => {
  it("returns the values that JSON.parse returns, wherever the bytes are cut into chunks", async () => {
    await fc.assert(
      fc.asyncProperty(document, cuts, async (bytes, at) => {
        assert.deepEqual(await parse(cut(bytes, at)), oracle(bytes));
        assert.equal(await skip(cut(bytes, at)), undefined);
      }),
      { numRuns: 150 },
    );
  });

  it("refuses only what JSON.parse refuses, after changes of bytes", async () => {
    const change = fc.tuple(fc.nat(), fc.nat({ max: 255 }), fc.constantFrom("put", "cut", "add"));
    const syntax = fc.constantFrom(...Buffer.from('{}[]:,"\\0123456789+-.eEnulltruefalse \n\u0000'));
    const steps = fc.array(fc.tuple(change, fc.option(syntax)), { minLength: 1, maxLength: 3 });
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(document, steps, cuts, async (bytes, changes, at) => {
        let changed = Buffer.from(bytes);
        for (const [[position, byte, how], letter] of changes) {
          const i = position % (changed.length + 1);
          const added = how === "cut" ? [] : [letter ?? byte];
          const rest = changed.subarray(how === "add" ? i : i + 1);
          changed = Buffer.concat([changed.subarray(0, i), Uint8Array.from(added), rest]);
        }
        const expected = attempt(() => oracle(changed));
        // The byte order mark and the literals of Python are accepted although JSON has neither.
        if (/NaN|Infinity/.test(changed.toString()) || changed[0] === 0xef) return;
        if (expected === undefined) await unreadableAt(changed);
        else if (hasHalfPair(expected.value))
          await assert.rejects(parse([changed]), { code: "unreadable_blob" });
        else {
          accepted++;
          assert.deepEqual(await parse(cut(changed, at)), expected.value);
        }
      }),
      { numRuns: 1000 },
    );
    assert.ok(accepted > 30, `only ${accepted} changed documents were still JSON`);
  });

  it("refuses a document that ends early, at every byte, with its length as the position", async () => {
    const bytes = Buffer.from(
      '{"a": [1.5, -2e-3, null, "x\\u0041é"], "b": {"c": true, "d": NaN}, "e": -Infinity}',
    );
    for (let length = 1; length < bytes.length; length++) {
      const part = bytes.subarray(0, length);
      await unreadableAt(part, length);
    }
  });

  it("recognises an empty blob and another encoding or format by the first bytes", async () => {
    await unreadableAt(Buffer.alloc(0), 0);
    await unreadableAt(Buffer.from("  \n"), 3);
    await unreadableAt(Buffer.from("\ufeff[1]", "utf16le"), 0);
    await unreadableAt(Buffer.from("[1]", "utf16le"), 0);
    await unreadableAt(Buffer.from("[1]", "utf16le").swap16(), 0);
    await unreadableAt(Buffer.from([0x5b, 0, 0, 0, 0x5d, 0, 0, 0]), 0);
    await unreadableAt(Buffer.from([0x1f, 0x8b, 8, 0]), 0);
    await unreadableAt(Buffer.from("PAR1"), 0);
    assert.deepEqual(await parse([Buffer.from("\ufeff[1]")]), [1]);
    assert.deepEqual(await parse([Buffer.from([0xef]), Buffer.from([0xbb, 0xbf, 0x37])]), 7);
  });

  it("reads what Python writes for missing values", async () => {
    const text = '{"a": NaN, "b": [NaN, Infinity, -Infinity, 1]}';
    assert.deepEqual(await parse([Buffer.from(text)]), {
      a: Number.NaN,
      b: [Number.NaN, Number.NaN, Number.NaN, 1],
    });
  });

  it("reads nesting up to its limit, and names the byte that exceeds it, without recursion", async () => {
    const nested = (depth: number) => Buffer.from(`${"[".repeat(depth)}${"]".repeat(depth)}`);
    await skip([nested(64)]);
    await unreadableAt(nested(65), 64);
    await unreadableAt(Buffer.from('{"a":'.repeat(100_000)), 5 * 64);
  });

  it("reads a string longer than its window, and refuses one beyond the limit", async () => {
    const long = `"${"é".repeat(400_000)}"`;
    assert.equal(await parse(cut(Buffer.from(long), [7, 100_000])), "é".repeat(400_000));
    const endless = Array.from({ length: 40 }, () => Buffer.alloc(1 << 20, "a"));
    await assert.rejects(parse([Buffer.from('"'), ...endless]), { code: "unreadable_blob" });
  });

  it("distinguishes strings, however many there are", async () => {
    const texts = Array.from({ length: 100_000 }, (_, i) => `${(i * 7919) % 100_003}-${"x".repeat(i % 60)}`);
    const bytes = Buffer.from(JSON.stringify([...texts, ...texts]));
    assert.deepEqual(await parse(cut(bytes, [65_536])), [...texts, ...texts]);
  });
});

function attempt<T>(action: () => T): { value: T } | undefined {
  try {
    return { value: action() };
  } catch {
    return undefined;
  }
}
