import { endianness } from "node:os";
import { MucastError } from "../contract/errors/errors.ts";
import { type ArrayRef, readNpy, swapBytes } from "./npy.ts";

/** A small array that travels within a message; no file holds it. */
export interface InlineArray {
  /** The values, row-major. */
  readonly base64: string;
  /** Little-endian float64. */
  readonly dtype: "<f8";
  readonly shape: readonly number[];
  /** Row-major. */
  readonly order: "C";
}

/**
 * The values of an array from the engine, read from its file or from the message itself.
 * @returns its values in row-major order, aligned and owned by the caller.
 * @throws MucastError output_failed if its file cannot be read; internal if it is not the array that the message describes.
 */
export function readArray(array: ArrayRef | InlineArray): Float64Array {
  return "base64" in array ? decoded(array) : readNpy(array);
}

/** The message of one-dimensional values. */
export function inlineArray(values: Float64Array): InlineArray {
  const own = endianness() === "LE" ? values : swapBytes(values.slice());
  const base64 = Buffer.from(own.buffer, own.byteOffset, own.byteLength).toString("base64");
  return { base64, dtype: "<f8", shape: [values.length], order: "C" };
}

/** Bit for bit: a NaN keeps its payload. */
function decoded({ base64, dtype, shape, order }: InlineArray): Float64Array {
  const length = shape.reduce((product, size) => product * size, 1);
  const isOfLength =
    dtype === "<f8" &&
    order === "C" &&
    shape.every((size) => Number.isInteger(size) && size >= 0) &&
    base64.length === 4 * Math.ceil((length * Float64Array.BYTES_PER_ELEMENT) / 3);
  if (isOfLength) {
    const values = new Float64Array(length);
    const bytes = Buffer.from(values.buffer);
    bytes.write(base64, "base64");
    // Node ignores characters that are not base64 and stops at padding, so what was read is compared with the text.
    if (bytes.toString("base64") === base64) return endianness() === "LE" ? values : swapBytes(values);
  }
  const description = `${order} ${dtype} of shape (${shape.join(", ")})`;
  throw new MucastError("internal", `${base64.length} characters of base64 are not an array ${description}`);
}
