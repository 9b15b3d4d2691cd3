import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import { type InlineArray, readArray } from "./inline-array.ts";
import { writeNpy } from "./npy.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-inline-"));
after(() => rmSync(folder, { recursive: true }));

/** The message that the engine makes of values with these bytes, little-endian. */
function inline(bytes: Uint8Array, changes: object = {}): InlineArray {
  const shape = [bytes.length / 8];
  return { base64: Buffer.from(bytes).toString("base64"), dtype: "<f8", shape, order: "C", ...changes };
}

const bytesOf = (values: Float64Array) => new Uint8Array(values.buffer);

describe("an array within a message", () => {
  let files = 0;
  /** Compares any bits with the result of reading a file of the same values. */
  const readsAsAFile = (bytes: Uint8Array) => {
    const values = new Float64Array(bytes.slice().buffer);
    const ref = writeNpy(join(folder, `${files++}.npy`), values, [values.length]);
    assert.deepEqual(bytesOf(readArray(inline(bytes))), bytesOf(readArray(ref)));
    assert.deepEqual(bytesOf(readArray(inline(bytes))), bytes);
  };

  test("is read bit for bit like its file, whatever its bits", () => {
    const whole = fc.uint8Array({ maxLength: 320 }).map((bytes) => bytes.slice(0, bytes.length & ~7));
    fc.assert(fc.property(whole, readsAsAFile));
  });

  test("is so at sizes around the engine's largest, with -0 and NaN payloads", () => {
    for (const count of [0, 1, 2, 3, 1_023, 1_024, 1_025]) {
      const view = new DataView(new ArrayBuffer(8 * count));
      const bits = [0x8000000000000000n, 0x7ff8000000000123n, 0xfff0000000000001n, 1n];
      for (let i = 0; i < count; i++) view.setBigUint64(8 * i, bits[i % bits.length]!, true);
      readsAsAFile(new Uint8Array(view.buffer));
    }
  });

  const sound = inline(new Uint8Array(24).fill(7));
  const foreign: readonly (readonly [what: string, changes: object])[] = [
    ["fewer values than its shape", { shape: [4] }],
    ["more values than its shape", { shape: [2] }],
    ["a shape of less than nothing", { shape: [-3] }],
    ["a shape of fractions", { shape: [1.5, 2] }],
    ["a shape beyond all memory", { shape: [2 ** 60] }],
    ["another type", { dtype: "<f4" }],
    ["another order", { order: "F" }],
    ["what is no base64", { base64: `*${sound.base64.slice(1)}` }],
    ["base64 for addresses", { base64: "__".padEnd(sound.base64.length, "A") }],
    ["an end amid it", { base64: `AA==${sound.base64.slice(4)}` }],
    ["nothing", { base64: "" }],
  ];
  for (const [what, changes] of foreign) {
    test(`of ${what} is refused`, () => {
      assert.throws(() => readArray({ ...sound, ...changes }), {
        code: "internal",
        message: /^\d+ characters of base64 are not an array [CF] <f[48] of shape \(.*\)$/,
      });
    });
  }

  test("whose last character has surplus bits is refused", () => {
    const one = inline(new Uint8Array(8));
    assert.deepEqual(readArray(one), new Float64Array(1));
    assert.throws(() => readArray({ ...one, base64: one.base64.replace(/A=$/, "B=") }), { code: "internal" });
  });
});
