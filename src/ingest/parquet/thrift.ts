import { Cursor, type Part } from "./cursor.ts";

/** Wire types of Thrift's compact protocol (thrift/doc/specs/thrift-compact-protocol.md). */
const Wire = {
  stop: 0,
  true: 1,
  false: 2,
  byte: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  set: 10,
  map: 11,
  struct: 12,
} as const;

/** Real metadata is nested five deep. */
const MAX_DEPTH = 32;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads structures of Thrift's compact protocol, in which Parquet writes its metadata. A caller names the fields that it wants; all others
 * are skipped. Every read is bounded by the bytes, so that the cost of a hostile file is limited by its length.
 */
export class ThriftReader {
  readonly #cursor: Cursor;
  /** Wire type of the field or element whose value comes next; undefined once the value was read. */
  #type: number | undefined;
  #depth = 0;

  constructor(bytes: Uint8Array, part: Part) {
    this.#cursor = new Cursor(bytes, part);
  }

  get part(): Part {
    return this.#cursor.part;
  }

  get position(): number {
    return this.#cursor.position;
  }

  set position(value: number) {
    this.#cursor.position = value;
  }

  fault(what: string) {
    return this.#cursor.fault(what);
  }

  /**
   * Reads a structure, which is all bytes or the next value.
   * @param onField called for each field; reads its value with one call of another method, or leaves it to be skipped.
   */
  struct(onField: (id: number) => void): void {
    this.#expect(this.#depth === 0 && this.#type === undefined ? [] : [Wire.struct], "a structure");
    this.#enter();
    let id = 0;
    for (;;) {
      const header = this.#cursor.byte();
      const type = header & 0x0f;
      if (type === Wire.stop) break;
      const delta = header >> 4;
      id = delta === 0 ? this.#cursor.zigzag() : id + delta;
      this.#type = type;
      onField(id);
      if (this.#type !== undefined) this.skip();
    }
    this.#depth--;
  }

  /** Reads a list. @param onElement called for each element; reads or leaves its value like `onField`. */
  list(onElement: (index: number) => void): void {
    this.#expect([Wire.list, Wire.set], "a list");
    const { size, type } = this.#listHeader();
    this.#enter();
    for (let i = 0; i < size; i++) {
      this.#type = type;
      onElement(i);
      if (this.#type !== undefined) this.skip();
    }
    this.#depth--;
  }

  integer(): number {
    const type = this.#expect([Wire.byte, Wire.i16, Wire.i32, Wire.i64], "an integer");
    return type === Wire.byte ? (this.#cursor.byte() << 24) >> 24 : this.#cursor.zigzag();
  }

  /** A field; in a list, booleans are bytes. */
  boolean(): boolean {
    return this.#expect([Wire.true, Wire.false], "true or false") === Wire.true;
  }

  text(): string {
    return this.textUpTo(Number.POSITIVE_INFINITY)!;
  }

  /** @returns undefined for a text of more than `limit` bytes, which is skipped. */
  textUpTo(limit: number): string | undefined {
    this.#expect([Wire.binary], "a text");
    const bytes = this.#cursor.take(this.#cursor.varint());
    if (bytes.length > limit) return undefined;
    try {
      return utf8.decode(bytes);
    } catch {
      throw this.fault("the metadata contains a text that is not UTF-8");
    }
  }

  skip(): void {
    const type = this.#type;
    this.#type = undefined;
    if (type !== undefined) this.#skip(type);
  }

  #skip(type: number): void {
    const cursor = this.#cursor;
    switch (type) {
      case Wire.true:
      case Wire.false:
        return;
      case Wire.byte:
        cursor.byte();
        return;
      case Wire.i16:
      case Wire.i32:
      case Wire.i64:
        cursor.skipVarint();
        return;
      case Wire.double:
        cursor.take(8);
        return;
      case Wire.binary:
        cursor.take(cursor.varint());
        return;
      case Wire.list:
      case Wire.set:
        this.#skipList();
        return;
      case Wire.struct:
        this.#type = Wire.struct;
        this.struct(() => undefined);
        return;
      default:
        // Parquet has no maps.
        throw this.fault(`the metadata contains a value of the unknown type ${type}`);
    }
  }

  #skipList(): void {
    const { size, type } = this.#listHeader();
    this.#enter();
    const isBoolean = type === Wire.true || type === Wire.false;
    for (let i = 0; i < size; i++) this.#skip(isBoolean ? Wire.byte : type);
    this.#depth--;
  }

  #listHeader(): { readonly size: number; readonly type: number } {
    const header = this.#cursor.byte();
    const size = header >> 4 === 15 ? this.#cursor.varint() : header >> 4;
    // Every element takes at least one byte.
    this.#cursor.require(size);
    return { size, type: header & 0x0f };
  }

  #enter(): void {
    this.#depth++;
    if (this.#depth > MAX_DEPTH) throw this.fault(`the metadata is nested more than ${MAX_DEPTH} deep`);
  }

  #expect(types: readonly number[], what: string): number | undefined {
    const type = this.#type;
    this.#type = undefined;
    if (types.length === 0 || (type !== undefined && types.includes(type))) return type;
    throw this.fault(`the metadata has a value of the type ${type} where ${what} is expected`);
  }
}
