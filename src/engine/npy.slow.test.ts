import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import { findEnvironment } from "./environment/environment.ts";
import { NpyWriter, readArray, readNpyRows, removeArray, writeNpy } from "./npy.ts";
import { runCommand } from "./process-output.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-npy-"));
after(() => rmSync(folder, { recursive: true }));

let files = 0;
const newPath = () => join(folder, `${files++}.npy`);
const sines = Float64Array.from({ length: 30 }, (_, i) => Math.sin(i));

test("an array is read back bit for bit from its file and from a message, whatever its bits", () => {
  const bits = fc.uint8Array({ maxLength: 320 }).map((bytes) => bytes.slice(0, bytes.length & ~7));
  fc.assert(
    fc.property(bits, (bytes) => {
      const values = new Float64Array(bytes.buffer);
      const shape = [values.length];
      const base64 = Buffer.from(bytes).toString("base64");
      const message = { base64, dtype: "<f8", shape, order: "C" } as const;
      for (const array of [writeNpy(newPath(), values, shape), message])
        assert.deepEqual(new Uint8Array(readArray(array).buffer), bytes);
    }),
  );
});

describe("an array file", () => {
  test("that is written in pieces has the same bytes as one written at once, and returns any of its rows", () => {
    const whole = writeNpy(newPath(), sines, [10, 3]);
    const writer = new NpyWriter(newPath(), [10, 3]);
    for (const piece of [sines.subarray(0, 3), sines.subarray(3, 3), sines.subarray(3)]) writer.append(piece);
    assert.deepEqual(readFileSync(writer.close().ref), readFileSync(whole.ref));
    for (const from of [0, 4, 10]) assert.deepEqual(readNpyRows(whole, from, 10), sines.slice(from * 3));
    assert.throws(() => readNpyRows(whole, 8, 11), /ends before row 11/);
    removeArray(whole.ref);
    assert.throws(() => readNpyRows(whole, 0, 1), { code: "output_failed" });
  });

  test("is the same array to NumPy, and a NumPy file is the same array to us", async () => {
    const { python } = findEnvironment();
    const values = Float64Array.from([0.1, -0, 1e308, 5e-324, Math.PI, -7]);
    const { ref } = writeNpy(newPath(), values, [3, 2]);
    const theirs = newPath();
    const program = `
import sys, numpy
a = numpy.load(sys.argv[1], mmap_mode="r", allow_pickle=False)
assert a.shape == (3, 2) and a.dtype == "<f8" and a.flags.c_contiguous and a.offset % 64 == 0
assert a.tolist() == [[0.1, -0.0], [1e308, 5e-324], [3.141592653589793, -7.0]], a
numpy.save(sys.argv[2], a.ravel())`;
    const { code, stderr } = await runCommand(python, ["-c", program, ref, theirs]);
    assert.equal(code, 0, stderr);
    assert.deepEqual(readArray({ ref: theirs, dtype: "<f8", shape: [6], order: "C" }), values);
  });

  test("is not kept if its values do not fill its shape, and never overwrites another", () => {
    const path = newPath();
    assert.throws(() => writeNpy(path, new Float64Array(5), [2, 3]), /5 values do not fill shape \(2, 3\)/);
    assert.equal(existsSync(path), false);
    const writer = new NpyWriter(path, [2, 3]);
    writer.append(new Float64Array(3));
    assert.throws(() => writer.close(), /3 values are missing/);
    assert.throws(() => writeNpy(path, new Float64Array(1), [1]), { code: "output_failed" });
  });

  test("in a removed folder fails with an error that names the job's work folder but not its path", () => {
    const ref = join(newPath(), "x.npy");
    assert.throws(() => writeNpy(ref, new Float64Array(1), [1]), {
      code: "output_failed",
      message: /^the work folder of the job cannot be written: it does not exist \(ENOENT\); TMPDIR/,
    });
    assert.throws(() => readArray({ ref, dtype: "<f8", shape: [1], order: "C" }), {
      code: "output_failed",
      message: "the work folder of the job cannot be read: it does not exist (ENOENT)",
    });
  });

  test("that is cut, or does not have the stated shape, is not read", () => {
    const { ref } = writeNpy(newPath(), new Float64Array(4), [4]);
    assert.throws(() => readArray({ ref, dtype: "<f8", shape: [2, 2], order: "C" }), { code: "internal" });
    const whole = readFileSync(ref);
    for (const size of [0, 9, 10, 64, 128, whole.length - 8]) {
      const cut = newPath();
      writeFileSync(cut, whole.subarray(0, size));
      assert.throws(() => readArray({ ref: cut, dtype: "<f8", shape: [4], order: "C" }), {
        code: "internal",
        message: `${cut} is not an array of shape (4,)`,
      });
    }
  });
});
