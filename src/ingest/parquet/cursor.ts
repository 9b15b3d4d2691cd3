import type { MucastError } from "../../contract/errors/errors.ts";
import { quote, unreadable } from "../blob-errors.ts";

/** The part of a file that bytes come from, for errors. */
export interface Part {
  /** The blob's name. */
  readonly source: string;
  /** Byte offset in the file where the part begins. */
  readonly offset: number;
  /** The column that the part belongs to. */
  readonly column?: string | undefined;
}

/** @returns the `unreadable_blob` error for a part of a file; `what` is a clause without full stop. */
export function faultIn({ source, offset, column }: Part, what: string): MucastError {
  return unreadable(source, offset, column === undefined ? what : `column ${quote(column)} ${what}`);
}

const MAX_VARINT_BYTES = 10;

/** A reader's position in bytes that it must not read beyond. */
export class Cursor {
  position = 0;
  readonly bytes: Uint8Array;
  readonly part: Part;
  readonly #view: DataView;

  /** @param bytes of the part, from its first byte on; for compressed data, after decompression. */
  constructor(bytes: Uint8Array, part: Part) {
    this.bytes = bytes;
    this.part = part;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get remaining(): number {
    return this.bytes.length - this.position;
  }

  fault(what: string): MucastError {
    return faultIn(this.part, what);
  }

  require(length: number): void {
    if (length < 0 || length > this.remaining) throw this.fault("ends in the middle of a value");
  }

  take(length: number): Uint8Array {
    this.require(length);
    this.position += length;
    return this.bytes.subarray(this.position - length, this.position);
  }

  byte(): number {
    this.require(1);
    return this.bytes[this.position++]!;
  }

  uint32(): number {
    this.require(4);
    this.position += 4;
    return this.#view.getUint32(this.position - 4, true);
  }

  /** An unsigned LEB128 number. */
  varint(): number {
    let value = 0;
    let factor = 1;
    for (let i = 0; i < MAX_VARINT_BYTES; i++) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
      factor *= 128;
    }
    throw this.fault("contains an integer beyond 2^53");
  }

  skipVarint(): void {
    for (let i = 0; i < MAX_VARINT_BYTES; i++) if (this.byte() < 0x80) return;
    throw this.fault("contains an integer of more than 64 bits");
  }

  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  bigVarint(): bigint {
    let value = 0n;
    for (let i = 0; i < MAX_VARINT_BYTES; i++) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw this.fault("contains an integer of more than 64 bits");
  }

  bigZigzag(): bigint {
    const value = this.bigVarint();
    return (value >> 1n) ^ -(value & 1n);
  }
}
