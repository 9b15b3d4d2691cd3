import { closeSync, openSync, readFileSync, readSync, rmSync, unlinkSync, writeSync } from "node:fs";
import { MucastError } from "../contract/errors/errors.ts";
import { codeOf, workFolderError } from "../contract/errors/system-error.ts";

// Every platform that has the libraries is little-endian, as the numbers of both kinds of array are.

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

/** A small array that travels within a message; no file holds it. */
export interface InlineArray extends Omit<ArrayRef, "ref"> {
  /** The values. */
  readonly base64: string;
}

/**
 * The values of an array from the engine, read from its file or from the message itself.
 * @returns its values in row-major order, owned by the caller.
 * @throws MucastError output_failed if its file cannot be read; internal if it is not the array that the message describes.
 */
export function readArray(array: ArrayRef | InlineArray): Float64Array {
  if (!("base64" in array)) return readNpy(array);
  const bytes = Buffer.from(array.base64, "base64");
  if (bytes.length === 8 * product(array.shape)) return float64Of(bytes);
  throw new MucastError("internal", `${bytes.length} bytes are not an array of shape ${tuple(array.shape)}`);
}

// NumPy's format 1.0: magic, version, length of the header, header. The data start at a multiple of 64 bytes.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
const MAGIC = Buffer.from("\x93NUMPY\x01\x00", "latin1");
/** Offset of the header, behind its length in two bytes. */
const HEADER_START = MAGIC.length + 2;
const ALIGNMENT = 64;

/**
 * Writes `values`, row-major, as the `.npy` file `path`, which must not exist.
 * @param shape its product is the number of values.
 * @throws MucastError output_failed if the disk is full or the folder cannot be written; no file is left then.
 */
export function writeNpy(path: string, values: Float64Array, shape: readonly number[]): ArrayRef {
  if (product(shape) !== values.length) {
    throw new MucastError("internal", `${values.length} values do not fill shape ${tuple(shape)}`);
  }
  const writer = new NpyWriter(path, shape);
  writer.append(values);
  return writer.close();
}

/** Writes an array piece by piece, so that the whole array is never in memory. */
export class NpyWriter {
  readonly #ref: ArrayRef;
  readonly #file: number;
  #missing: number;

  /** Creates the file `path`, which must not exist. @throws MucastError output_failed like `writeNpy`. */
  constructor(path: string, shape: readonly number[]) {
    this.#ref = { ref: path, dtype: "<f8", shape, order: "C" };
    this.#missing = product(shape);
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
    this.#write(bytesOf(values));
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

/**
 * Reads back an array that the engine wrote.
 * @returns its values in row-major order, owned by the caller.
 * @throws MucastError output_failed if it cannot be read; internal if the file is not the array that `ref` names.
 */
export function readNpy({ ref, shape }: ArrayRef): Float64Array {
  let bytes: Buffer;
  try {
    bytes = readFileSync(ref);
  } catch (cause) {
    throw workFolderError("read", cause);
  }
  const headerLength = bytes.length < HEADER_START ? 0 : bytes.readUInt16LE(MAGIC.length);
  const start = HEADER_START + headerLength;
  const header = bytes.toString("latin1", HEADER_START, start);
  const isExpected =
    bytes.subarray(0, MAGIC.length).equals(MAGIC) &&
    header.includes("'descr': '<f8'") &&
    header.includes("'fortran_order': False") &&
    header.includes(`'shape': ${tuple(shape)}`) &&
    bytes.length === start + 8 * product(shape);
  if (isExpected) return float64Of(bytes.subarray(start));
  throw new MucastError("internal", `${ref} is not an array of shape ${tuple(shape)}`);
}

/**
 * Reads some rows of an array that `writeNpy` or `NpyWriter` wrote, without the others.
 * @param from first row; `to` is exclusive.
 * @returns shape (to - from, k), row-major.
 * @throws MucastError output_failed if the file cannot be read.
 */
export function readNpyRows({ ref, shape }: ArrayRef, from: number, to: number): Float64Array {
  const width = product(shape.slice(1));
  const values = new Float64Array((to - from) * width);
  const bytes = bytesOf(values);
  const start = headerOf(shape).length + 8 * from * width;
  let file: number | undefined;
  try {
    file = openSync(ref, "r");
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
  return values;
}

/** Removes the file of an array. Ignores a missing file, such as a failed task's. */
export function removeArray(path: string): void {
  try {
    unlinkSync(path);
  } catch (cause) {
    if (codeOf(cause) !== "ENOENT") throw workFolderError("written", cause);
  }
}

function headerOf(shape: readonly number[]): Buffer {
  const text = `{'descr': '<f8', 'fortran_order': False, 'shape': ${tuple(shape)}, }`;
  const size = Math.ceil((HEADER_START + text.length + 1) / ALIGNMENT) * ALIGNMENT - HEADER_START;
  const length = Buffer.alloc(2);
  length.writeUInt16LE(size);
  return Buffer.concat([MAGIC, length, Buffer.from(`${text.padEnd(size - 1)}\n`, "latin1")]);
}

/** Like a Python tuple: one element keeps its comma. */
function tuple(shape: readonly number[]): string {
  return shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
}

function product(shape: readonly number[]): number {
  return shape.reduce((all, size) => all * size, 1);
}

function bytesOf(values: Float64Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}

/** A copy, because its bytes may lie at any address. */
function float64Of(bytes: Buffer): Float64Array {
  return new Float64Array(Uint8Array.from(bytes).buffer);
}
