import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { endianness } from "node:os";
import { MucastError } from "../contract/errors/errors.ts";
import { codeOf, workFolderError } from "../contract/errors/system-error.ts";

/** An array that travels as a file; a message names it and never contains its numbers. */
export interface ArrayRef {
  /** Absolute path of the `.npy` file, under the job's work folder. */
  readonly ref: string;
  /** Little-endian float64. */
  readonly dtype: "<f8";
  readonly shape: readonly number[];
  /** Row-major. */
  readonly order: "C";
}

// NumPy's format 1.0: magic, version, length of the header, header. The data start at a multiple of 64 bytes.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
const MAGIC = Buffer.from("\x93NUMPY\x01\x00", "latin1");
/** Offset of the header's length, in two bytes behind the magic. */
const LENGTH_END = MAGIC.length + 2;
const ALIGNMENT = 64;

/**
 * Writes `values`, row-major, as the `.npy` file `path`, which must not exist.
 * @param shape its product is the number of values.
 * @throws MucastError output_failed if the disk is full or the folder cannot be written; no file is left then.
 */
export function writeNpy(path: string, values: Float64Array, shape: readonly number[]): ArrayRef {
  const expected = shape.reduce((product, size) => product * size, 1);
  if (expected !== values.length) {
    throw new MucastError("internal", `${values.length} values do not fill shape (${shape.join(", ")})`);
  }
  try {
    writeWhole(path, [headerOf(shape), littleEndian(values)]);
  } catch (cause) {
    throw workFolderError("written", cause);
  }
  return { ref: path, dtype: "<f8", shape, order: "C" };
}

/**
 * A second name of an array's file, which remains when the first is removed.
 * @throws MucastError output_failed if the folder cannot be written.
 */
export function linkArray(array: ArrayRef, path: string): ArrayRef {
  try {
    linkSync(array.ref, path);
  } catch (cause) {
    throw workFolderError("written", cause);
  }
  return { ...array, ref: path };
}

/**
 * Reads back an array that the engine wrote.
 * @returns its values in row-major order, aligned and owned by the caller.
 * @throws MucastError output_failed if it cannot be read; internal if the file is not the array that `ref` names.
 */
export function readNpy(ref: ArrayRef): Float64Array {
  const bytes = bytesOf(ref.ref);
  const isCut = bytes.length < LENGTH_END;
  const start = LENGTH_END + (isCut ? 0 : bytes.readUInt16LE(MAGIC.length));
  const header = bytes.toString("latin1", LENGTH_END, start);
  const length = ref.shape.reduce((product, size) => product * size, 1);
  const isExpected =
    bytes.subarray(0, MAGIC.length).equals(MAGIC) &&
    header.includes("'descr': '<f8'") &&
    header.includes("'fortran_order': False") &&
    header.includes(`'shape': ${tuple(ref.shape)}`) &&
    bytes.length === start + length * Float64Array.BYTES_PER_ELEMENT;
  if (!isExpected)
    throw new MucastError("internal", `${ref.ref} is not an array of shape ${tuple(ref.shape)}`);
  const values = new Float64Array(length);
  Buffer.from(values.buffer).set(bytes.subarray(start));
  return endianness() === "LE" ? values : swapBytes(values);
}

/**
 * Reads some rows of an array that `writeNpy` or `NpyWriter` wrote, without the others.
 * @param from first row; `to` is exclusive.
 * @returns shape (to - from, k), row-major.
 * @throws MucastError output_failed if the file cannot be read.
 */
export function readNpyRows({ ref, shape }: ArrayRef, from: number, to: number): Float64Array {
  const width = shape.slice(1).reduce((product, size) => product * size, 1);
  const values = new Float64Array((to - from) * width);
  const bytes = Buffer.from(values.buffer);
  let file: number | undefined;
  try {
    file = openSync(ref, constants.O_RDONLY | constants.O_NONBLOCK);
    const start = headerOf(shape).length + from * width * Float64Array.BYTES_PER_ELEMENT;
    for (let at = 0; at < bytes.length; ) {
      const read = readSync(file, bytes, at, bytes.length - at, start + at);
      if (read === 0) throw new MucastError("internal", `${ref} ends before row ${to}`);
      at += read;
    }
  } catch (cause) {
    if (cause instanceof MucastError) throw cause;
    throw workFolderError("read", cause);
  } finally {
    if (file !== undefined) closeSync(file);
  }
  return endianness() === "LE" ? values : swapBytes(values);
}

/** Writes an array piece by piece, so that the whole array is never in memory. */
export class NpyWriter {
  readonly #ref: ArrayRef;
  readonly #file: number;
  #missing: number;

  /** Creates the file `path`, which must not exist. @throws MucastError output_failed like `writeNpy`. */
  constructor(path: string, shape: readonly number[]) {
    this.#ref = { ref: path, dtype: "<f8", shape, order: "C" };
    this.#missing = shape.reduce((product, size) => product * size, 1);
    try {
      this.#file = openSync(path, "wx", 0o600);
    } catch (cause) {
      throw workFolderError("written", cause);
    }
    this.#write(headerOf(shape));
  }

  /** Appends values, row-major. @throws MucastError output_failed if the disk is full; no file is left then. */
  append(values: Float64Array): void {
    this.#missing -= values.length;
    this.#write(littleEndian(values));
  }

  /** @throws MucastError internal if the values do not fill the shape. */
  close(): ArrayRef {
    closeSync(this.#file);
    if (this.#missing === 0) return this.#ref;
    throw new MucastError("internal", `${this.#missing} values are missing in ${this.#ref.ref}`);
  }

  #write(bytes: Buffer): void {
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
    } catch (cause) {
      closeSync(this.#file);
      rmSync(this.#ref.ref, { force: true });
      throw workFolderError("written", cause);
    }
  }
}

/** Removes the file of an array. Ignores a missing file, such as a failed task's, and a folder, which its reader has reported. */
export function removeArray(path: string): void {
  try {
    unlinkSync(path);
  } catch (cause) {
    const code = codeOf(cause);
    if (code !== "ENOENT" && code !== "EISDIR") throw workFolderError("written", cause);
  }
}

function bytesOf(path: string): Buffer {
  let file: number | undefined;
  try {
    // Opening a pipe would wait for another process to write to it.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (fstatSync(file).isFile()) return readFileSync(file);
  } catch (cause) {
    throw workFolderError("read", cause);
  } finally {
    if (file !== undefined) closeSync(file);
  }
  throw new MucastError("internal", `${path} is not a regular file, so it cannot be an array`);
}

function headerOf(shape: readonly number[]): Buffer {
  const text = `{'descr': '<f8', 'fortran_order': False, 'shape': ${tuple(shape)}, }`;
  const unpadded = LENGTH_END + text.length + 1;
  const padding = (ALIGNMENT - (unpadded % ALIGNMENT)) % ALIGNMENT;
  const length = Buffer.alloc(2);
  length.writeUInt16LE(text.length + padding + 1);
  return Buffer.concat([MAGIC, length, Buffer.from(`${text}${" ".repeat(padding)}\n`, "latin1")]);
}

/** Like a Python tuple: one element keeps its comma. */
function tuple(shape: readonly number[]): string {
  return shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
}

function littleEndian(values: Float64Array): Buffer {
  const native = endianness() === "LE" ? values : swapBytes(values.slice());
  return Buffer.from(native.buffer, native.byteOffset, native.byteLength);
}

/** Reverses the bytes of every value in place. */
export function swapBytes(values: Float64Array): Float64Array {
  Buffer.from(values.buffer, values.byteOffset, values.byteLength).swap64();
  return values;
}

function writeWhole(path: string, parts: readonly Buffer[]): void {
  const file = openSync(path, "wx", 0o600);
  try {
    for (const part of parts) {
      for (let at = 0; at < part.length; ) at += writeSync(file, part, at);
    }
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}
