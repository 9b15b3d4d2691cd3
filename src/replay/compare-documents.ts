import { createHash } from "node:crypto";
import { z } from "zod";
import { outputBlobSchema } from "../contract/output/output-blob.ts";
import { type Differences, type Path, spellingOf } from "./differences.ts";
import type { Child, JsonFile, Span } from "./json-file.ts";

/** Members that identify a run and its machine. A replay does not compare them. */
const NOT_COMPARED: ReadonlySet<string> = new Set(["id", "created_at", "machine"]);

/** Values up to this size are parsed; of larger values the members are compared one by one. */
const PARSED_BYTES = 4 * 2 ** 20;

/** Bytes of a value in a difference between equal values with different texts. */
const SHOWN_BYTES = 100;

/** What is compared of a document: its digest, and the number of its numbers. */
export interface ComparedText {
  readonly sha256: string;
  readonly numbers: number;
}

/** SHA-256 of a document's text without the members of NOT_COMPARED: `{`, the other members as written, joined by commas, and `}`. */
export async function comparedText(file: JsonFile): Promise<ComparedText> {
  const hash = createHash("sha256").update("{");
  let [mark, numbers] = ["", 0];
  for (const [name, { entry, value }] of await file.members(file.whole)) {
    if (NOT_COMPARED.has(name)) continue;
    hash.update(mark);
    for await (const piece of file.pieces(entry)) hash.update(piece);
    numbers += await file.numbers(value);
    mark = ",";
  }
  return { sha256: hash.update("}").digest("hex"), numbers };
}

/**
 * Counts every difference between two documents, except in NOT_COMPARED.
 * @param parsedBytes maximum size of parsed values, which limits the memory; tests pass another number.
 */
export async function compareDocuments(
  recorded: JsonFile,
  replayed: JsonFile,
  differences: Differences,
  mayLack: MayLack,
  parsedBytes = PARSED_BYTES,
): Promise<void> {
  const compare = new DocumentComparison(recorded, replayed, differences, mayLack, parsedBytes);
  await compare.members([], recorded.whole, replayed.whole, NOT_COMPARED);
}

/** Successive elements of two arrays, with the same indices. */
interface Run {
  readonly first: number;
  readonly count: number;
  readonly recorded: Span;
  readonly replayed: Span;
}

function joined(run: Run, next: Run): Run {
  return {
    first: run.first,
    count: run.count + next.count,
    recorded: { start: run.recorded.start, end: next.recorded.end },
    replayed: { start: run.replayed.start, end: next.replayed.end },
  };
}

class DocumentComparison {
  readonly #recorded: JsonFile;
  readonly #replayed: JsonFile;
  readonly #differences: Differences;
  readonly #mayLack: MayLack;
  readonly #parsedBytes: number;

  constructor(
    recorded: JsonFile,
    replayed: JsonFile,
    differences: Differences,
    mayLack: MayLack,
    parsedBytes: number,
  ) {
    this.#recorded = recorded;
    this.#replayed = replayed;
    this.#differences = differences;
    this.#mayLack = mayLack;
    this.#parsedBytes = parsedBytes;
  }

  async members(path: Path, recorded: Span, replayed: Span, without: ReadonlySet<string> = new Set()) {
    const [before, after] = [await this.#recorded.members(recorded), await this.#replayed.members(replayed)];
    for (const [key, { value }] of before) {
      if (without.has(key)) continue;
      const other = after.get(key);
      if (other !== undefined) await this.#values([...path, key], value, other.value);
      else this.#differences.other([...path, key], await quotedValue(this.#recorded, value), undefined);
    }
    for (const [key, { value }] of after) {
      if (before.has(key) || without.has(key)) continue;
      addedMember([...path, key], await quotedValue(this.#replayed, value), this.#differences, this.#mayLack);
    }
  }

  async #values(path: Path, recorded: Span, replayed: Span): Promise<void> {
    if (await this.#sameText(recorded, replayed)) return;
    const total = this.#differences.total;
    if (lengthOf(recorded) <= this.#parsedBytes && lengthOf(replayed) <= this.#parsedBytes) {
      const [before, after] = [await this.#recorded.parse(recorded), await this.#replayed.parse(replayed)];
      compareValues(path, before, after, this.#differences, this.#mayLack);
    } else {
      const kinds = `${await this.#recorded.kind(recorded)}${await this.#replayed.kind(replayed)}`;
      if (kinds === "{{") await this.members(path, recorded, replayed);
      else if (kinds === "[[") await this.#elements(path, recorded, replayed);
    }
    if (this.#differences.total > total) return;
    await this.#otherText(path, recorded, replayed);
  }

  /** Another spelling of the same values, another order of members, a duplicate key, or values of two kinds. */
  async #otherText(path: Path, recorded: Span, replayed: Span): Promise<void> {
    if (lengthOf(recorded) <= this.#parsedBytes && lengthOf(replayed) <= this.#parsedBytes) {
      const texts = [await this.#recorded.text(recorded), await this.#replayed.text(replayed)] as const;
      const spelling = spellingOf(...texts);
      if (spelling !== undefined) return this.#differences.spelling(path, spelling);
    }
    // A little before the first byte that differs; a text that begins inside a character begins with U+FFFD.
    const offset = Math.max(0, ((await this.#firstDifference(recorded, replayed)) ?? 0) - SHOWN_BYTES / 4);
    const [before, after] = [
      await this.#text(this.#recorded, recorded, offset),
      await this.#text(this.#replayed, replayed, offset),
    ];
    this.#differences.other(path, before, after);
  }

  /** Elements are compared in runs, because an array may have millions of numbers. */
  async #elements(path: Path, recorded: Span, replayed: Span): Promise<void> {
    const [before, after] = [this.#recorded.children(recorded), this.#replayed.children(replayed)];
    let run: Run | undefined;
    for (let i = 0; ; i++) {
      const [one, other] = [await before.next(), await after.next()];
      if (one.done || other.done) {
        if (run !== undefined) await this.#run(path, run);
        if (one.done === other.done) return;
        const lengths = [i + (await countOf(one, before)), i + (await countOf(other, after))];
        this.#differences.other([...path, "length"], lengths[0], lengths[1]);
        return;
      }
      const pair = { first: i, count: 1, recorded: one.value.value, replayed: other.value.value };
      const longer = run && joined(run, pair);
      if (longer !== undefined && lengthOf(longer.recorded) + lengthOf(longer.replayed) <= this.#parsedBytes)
        run = longer;
      else {
        if (run !== undefined) await this.#run(path, run);
        run = pair;
      }
    }
  }

  async #run(path: Path, { first, count, recorded, replayed }: Run): Promise<void> {
    if (count === 1) return this.#values([...path, first], recorded, replayed);
    if (await this.#sameText(recorded, replayed)) return;
    const total = this.#differences.total;
    const [before, after] = [
      await this.#recorded.parseList(recorded),
      await this.#replayed.parseList(replayed),
    ];
    for (const [i, value] of before.entries()) {
      compareValues([...path, first + i], value, after[i], this.#differences, this.#mayLack);
    }
    if (this.#differences.total === total) await this.#otherText([...path, first], recorded, replayed);
  }

  async #sameText(recorded: Span, replayed: Span): Promise<boolean> {
    if (lengthOf(recorded) !== lengthOf(replayed)) return false;
    return (await this.#firstDifference(recorded, replayed)) === undefined;
  }

  /** The offset of the first byte that differs, or the length of the shorter text; undefined if the texts are equal. */
  async #firstDifference(recorded: Span, replayed: Span): Promise<number | undefined> {
    const after = this.#replayed.pieces(replayed);
    // The pieces of equal texts at different offsets end at different bytes.
    let rest: Buffer = Buffer.alloc(0);
    let offset = 0;
    try {
      for await (let piece of this.#recorded.pieces(recorded)) {
        while (piece.length > 0) {
          if (rest.length === 0) rest = (await after.next()).value ?? rest;
          const length = Math.min(piece.length, rest.length);
          if (length === 0) return offset;
          if (piece.compare(rest, 0, length, 0, length) !== 0) {
            let same = 0;
            while (piece[same] === rest[same]) same += 1;
            return offset + same;
          }
          offset += length;
          [piece, rest] = [piece.subarray(length), rest.subarray(length)];
        }
      }
      return offset < lengthOf(replayed) ? offset : undefined;
    } finally {
      await after.return(undefined);
    }
  }

  /** The first bytes from an offset; the value begins there with an ellipsis. */
  async #text(file: JsonFile, { start, end }: Span, offset: number): Promise<string> {
    const from = Math.min(end, start + offset);
    const text = await file.text({ start: from, end: Math.min(end, from + SHOWN_BYTES) });
    return offset === 0 ? text : `…${text}`;
  }
}

async function countOf(first: IteratorResult<Child>, rest: AsyncGenerator<Child>): Promise<number> {
  if (first.done) return 0;
  let count = 1;
  for await (const _ of rest) count += 1;
  return count;
}

/** The value, or the start of its text if it is long. */
async function quotedValue(file: JsonFile, span: Span): Promise<unknown> {
  if (lengthOf(span) <= PARSED_BYTES) return file.parse(span);
  return file.text({ start: span.start, end: span.start + SHOWN_BYTES });
}

function lengthOf({ start, end }: Span): number {
  return end - start;
}

/**
 * Decides whether the recorded document may lack a member: returns the pattern of the path, such as
 * `metrics.score.by_ticker.*.up_share`, or undefined for a member that every output has.
 */
export type MayLack = (path: Path) => string | undefined;

/** Counts every difference between two JSON values, in the order of the recorded one. At most MAX_JSON_DEPTH levels deep. */
function compareValues(
  path: Path,
  recorded: unknown,
  replayed: unknown,
  differences: Differences,
  mayLack: MayLack,
): void {
  if (typeof recorded === "number" && typeof replayed === "number") {
    if (Object.is(recorded, replayed)) return;
    if (Number.isFinite(recorded)) differences.number(path, recorded, replayed);
    // From a text such as 1e999, which no job writes.
    else differences.other(path, String(recorded), replayed);
  } else if (Array.isArray(recorded) && Array.isArray(replayed)) {
    const shared = Math.min(recorded.length, replayed.length);
    for (let i = 0; i < shared; i++) {
      compareValues([...path, i], recorded[i], replayed[i], differences, mayLack);
    }
    if (recorded.length !== replayed.length) {
      differences.other([...path, "length"], recorded.length, replayed.length);
    }
  } else if (isObject(recorded) && isObject(replayed)) {
    for (const [key, value] of Object.entries(recorded)) {
      const other = Object.hasOwn(replayed, key) ? replayed[key] : undefined;
      if (other === undefined) differences.other([...path, key], value, undefined);
      else compareValues([...path, key], value, other, differences, mayLack);
    }
    for (const [key, value] of Object.entries(replayed)) {
      if (!Object.hasOwn(recorded, key)) addedMember([...path, key], value, differences, mayLack);
    }
  } else if (recorded !== replayed) differences.other(path, recorded, replayed);
}

/** A member that only the replayed document has. */
function addedMember(path: Path, value: unknown, differences: Differences, mayLack: MayLack): void {
  const pattern = mayLack(path);
  if (pattern === undefined) differences.other(path, undefined, value);
  else differences.lack(pattern);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** For an output that records everything that this version records: nothing may be missing. */
export const mayLackNothing: MayLack = () => undefined;

/**
 * For an output of an older version: members that are optional in the schema, because later versions added them, and settings of the
 * resolved configuration (`model`).
 */
export const mayLackOptional: MayLack = (path) => {
  let schema: z.ZodType = outputBlobSchema;
  const pattern: string[] = [];
  for (const [depth, part] of path.entries()) {
    const isLast = depth === path.length - 1;
    const inside = withoutWrappers(schema);
    if (inside instanceof z.ZodObject) {
      const member = (inside.shape as Record<string, z.ZodType>)[String(part)];
      pattern.push(String(part));
      if (member === undefined) {
        const rest = path.slice(depth + 1).map((inner) => (typeof inner === "number" ? "*" : inner));
        return isLoose(inside) ? [...pattern, ...rest].join(".") : undefined;
      }
      if (isLast) return member instanceof z.ZodOptional ? pattern.join(".") : undefined;
      schema = member;
    } else if (inside instanceof z.ZodRecord || inside instanceof z.ZodArray) {
      pattern.push("*");
      if (isLast) return undefined;
      schema = (inside instanceof z.ZodArray ? inside.element : inside.valueType) as z.ZodType;
    } else return undefined;
  }
  return undefined;
};

/** Strict objects have a catchall too, which accepts nothing. */
function isLoose({ def }: z.ZodObject): boolean {
  return def.catchall !== undefined && !(def.catchall instanceof z.ZodNever);
}

function withoutWrappers(schema: z.ZodType): z.ZodType {
  let inside = schema;
  while (inside instanceof z.ZodOptional || inside instanceof z.ZodNullable)
    inside = inside.unwrap() as z.ZodType;
  return inside;
}
