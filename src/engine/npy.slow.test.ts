import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import { MucastError } from "../contract/errors/errors.ts";
import { findEnvironment } from "./environment/environment.ts";
import { runCommand } from "./environment/run-command.ts";
import { NpyWriter, readNpy, readNpyRows, removeArray, writeNpy } from "./npy.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-npy-"));
after(() => rmSync(folder, { recursive: true }));

let files = 0;
const newPath = () => join(folder, `${files++}.npy`);

describe("an array file", () => {
  test("is read back bit for bit, whatever its values and shape", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ noNaN: true }), { maxLength: 40 }),
        fc.integer({ min: 1, max: 4 }),
        (numbers, columns) => {
          const values = Float64Array.from(numbers.slice(0, numbers.length - (numbers.length % columns)));
          const ref = writeNpy(newPath(), values, [values.length / columns, columns]);
          assert.deepEqual(new Uint8Array(readNpy(ref).buffer), new Uint8Array(values.buffer));
        },
      ),
    );
  });

  test("that is written in pieces has the same bytes as one written at once", () => {
    const values = Float64Array.from({ length: 30 }, (_, i) => Math.sin(i));
    const whole = writeNpy(newPath(), values, [10, 3]);
    const writer = new NpyWriter(newPath(), [10, 3]);
    for (const [from, to] of [
      [0, 3],
      [3, 3],
      [3, 24],
      [24, 30],
    ] as const)
      writer.append(values.subarray(from, to));
    assert.deepEqual(readFileSync(writer.close().ref), readFileSync(whole.ref));
  });

  test("that lacks a piece is refused", () => {
    const writer = new NpyWriter(newPath(), [2, 3]);
    writer.append(new Float64Array(3));
    assert.throws(() => writer.close(), /3 values are missing/);
  });

  test("returns any of its rows", () => {
    const values = Float64Array.from({ length: 30 }, (_, i) => Math.sin(i));
    const ref = writeNpy(newPath(), values, [10, 3]);
    for (const [from, to] of [
      [0, 10],
      [4, 4],
      [2, 7],
      [9, 10],
    ] as const) {
      assert.deepEqual(readNpyRows(ref, from, to), values.slice(from * 3, to * 3));
    }
    assert.throws(() => readNpyRows(ref, 8, 11), /ends before row 11/);
    removeArray(ref.ref);
    assert.throws(
      () => readNpyRows(ref, 0, 1),
      (error) => error instanceof MucastError && error.code === "output_failed",
    );
  });

  test("starts its numbers at a multiple of 64 bytes, in format 1.0", () => {
    for (const shape of [[0], [1], [3, 2], [100_000], [12_345, 3]]) {
      const values = new Float64Array(shape.reduce((a, b) => a * b, 1));
      const { ref } = writeNpy(newPath(), values, shape);
      const bytes = readFileSync(ref);
      assert.equal(bytes.toString("latin1", 0, 8), "\x93NUMPY\x01\x00");
      assert.equal((bytes.length - values.byteLength) % 64, 0);
    }
  });

  test("is the same array to NumPy, and a NumPy file is the same array to us", async () => {
    const { python } = findEnvironment();
    const values = Float64Array.from([0.1, -0, 1e308, 5e-324, Math.PI, -7]);
    const { ref } = writeNpy(newPath(), values, [3, 2]);
    const theirs = newPath();
    const program = `
import sys, numpy
a = numpy.load(sys.argv[1], mmap_mode="r", allow_pickle=False)
assert a.shape == (3, 2) and a.dtype == "<f8" and a.flags.c_contiguous, (a.shape, a.dtype)
assert a.tolist() == [[0.1, -0.0], [1e308, 5e-324], [3.141592653589793, -7.0]], a
numpy.save(sys.argv[2], a.ravel())`;
    const { code, stderr } = await runCommand(python, ["-c", program, ref, theirs]);
    assert.equal(code, 0, stderr);
    assert.deepEqual(readNpy({ ref: theirs, dtype: "<f8", shape: [6], order: "C" }), values);
  });

  test("is not written if its values do not fill its shape", () => {
    const path = newPath();
    assert.throws(() => writeNpy(path, new Float64Array(5), [2, 3]), /5 values do not fill shape \(2, 3\)/);
    assert.equal(existsSync(path), false);
  });

  test("is never overwritten", () => {
    const { ref } = writeNpy(newPath(), new Float64Array(1), [1]);
    assert.throws(
      () => writeNpy(ref, new Float64Array(2), [2]),
      (error) => error instanceof MucastError && error.code === "output_failed",
    );
  });

  test("in a removed folder fails with an error that names the job's work folder but not its path", () => {
    const ref = join(newPath(), "x.npy");
    assert.throws(() => writeNpy(ref, new Float64Array(1), [1]), {
      code: "output_failed",
      message: /^the work folder of the job cannot be written: it does not exist \(ENOENT\); TMPDIR/,
    });
    assert.throws(() => readNpy({ ref, dtype: "<f8", shape: [1], order: "C" }), {
      code: "output_failed",
      message: "the work folder of the job cannot be read: it does not exist (ENOENT)",
    });
  });

  test("that is cut, or does not have the stated shape, is not read", () => {
    const { ref } = writeNpy(newPath(), new Float64Array(4), [4]);
    const isInternal = (error: unknown) => error instanceof MucastError && error.code === "internal";
    assert.throws(() => readNpy({ ref, dtype: "<f8", shape: [2, 2], order: "C" }), isInternal);
    const whole = readFileSync(ref);
    for (const size of [0, 5, 9, 10, 64, 128, whole.length - 8]) {
      const cut = newPath();
      writeFileSync(cut, whole.subarray(0, size));
      assert.throws(() => readNpy({ ref: cut, dtype: "<f8", shape: [4], order: "C" }), {
        code: "internal",
        message: `${cut} is not an array of shape (4,)`,
      });
    }
  });

  test("that is a pipe or a folder is refused without waiting", async () => {
    const pipe = newPath();
    assert.equal((await runCommand("mkfifo", [pipe])).code, 0);
    for (const ref of [pipe, folder]) {
      assert.throws(() => readNpy({ ref, dtype: "<f8", shape: [4], order: "C" }), {
        code: "internal",
        message: `${ref} is not a regular file, so it cannot be an array`,
      });
    }
  });

  test("is removed; anything else is ignored", () => {
    const path = newPath();
    writeNpy(path, Float64Array.of(1), [1]);
    for (const gone of [path, path, folder]) removeArray(gone);
    assert.deepEqual([existsSync(path), existsSync(folder)], [false, true]);
    writeNpy(path, Float64Array.of(1), [1]);
    assert.throws(() => removeArray(join(path, "x.npy")), { code: "output_failed" });
  });
});
