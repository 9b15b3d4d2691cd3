import { createHash } from "node:crypto";
import { z } from "zod";
import { MucastError } from "../contract/errors/errors.ts";
import { outputBlobSchema } from "../contract/output/output-blob.ts";
import { type Differences, type Path, spellingOf } from "./differences.ts";
import { type JsonFile, type Member, stringFollower } from "./json-file.ts";

/** Members that identify a run and its machine. A replay does not compare them. */
const NOT_COMPARED: ReadonlySet<string> = new Set(["id", "created_at", "machine"]);

/** Of larger objects, the members are compared one by one. */
const PARSED_BYTES = 4 * 2 ** 20;
/** Larger values of other kinds are not compared: no output has one. */
const MAX_VALUE_BYTES = 2 ** 26;
/** Bytes of a larger value in a difference. */
const SHOWN_BYTES = 100;

/** What is compared of a document: its digest, and the number of its numbers. */
export interface ComparedText {
  readonly sha256: string;
  readonly numbers: number;
}

const NUMBER_STARTS: ReadonlySet<number> = new Set(Buffer.from("-0123456789"));
const BEFORE_VALUES: ReadonlySet<number> = new Set(Buffer.from("[,:"));

/** SHA-256 of a document's text without the members of NOT_COMPARED: `{`, the other members as written, joined by commas, and `}`. */
export async function comparedText(file: JsonFile): Promise<ComparedText> {
  const hash = createHash("sha256").update("{");
  let [mark, numbers] = ["", 0];
  for (const [name, member] of file.members) {
    if (NOT_COMPARED.has(name)) continue;
    hash.update(mark);
    const isInString = stringFollower();
    let last = 0;
    for await (const piece of file.pieces(member)) {
      hash.update(piece);
      for (const byte of piece) {
        if (!isInString(byte) && NUMBER_STARTS.has(byte) && BEFORE_VALUES.has(last)) numbers++;
        last = byte;
      }
    }
    mark = ",";
  }
  return { sha256: hash.update("}").digest("hex"), numbers };
}

/**
 * Counts every difference between two documents, except in NOT_COMPARED.
 * @param parsedBytes maximum size of parsed objects, which limits the memory; tests pass another number.
 * @throws MucastError unreadable_blob for a value that is not JSON; too_large.
 */
export async function compareDocuments(
  recorded: JsonFile,
  replayed: JsonFile,
  differences: Differences,
  mayLack: MayLack,
  parsedBytes = PARSED_BYTES,
): Promise<void> {
  const members = async (path: Path, before: Members, after: Members) => {
    const total = differences.total;
    const [keys, others] = [before, after].map((each) =>
      [...each.keys()].filter((key) => path.length > 0 || !NOT_COMPARED.has(key)),
    ) as [string[], string[]];
    for (const key of keys) {
      const other = after.get(key);
      if (other !== undefined) await values([...path, key], before.get(key)!, other);
      else differences.other([...path, key], await quoted(recorded, before.get(key)!), undefined);
    }
    for (const key of others) {
      if (before.has(key)) continue;
      addedMember([...path, key], await quoted(replayed, after.get(key)!), differences, mayLack);
    }
    if (differences.total === total && keys.some((key, i) => key !== others[i]))
      differences.other(path, "members in this order", "members in another order");
  };
  const values = async (path: Path, before: Member, after: Member) => {
    const both = <T>(read: (file: JsonFile, member: Member) => Promise<T>) =>
      Promise.all([read(recorded, before), read(replayed, after)]);
    const size = Math.max(before.end - before.start, after.end - after.start);
    if (size > parsedBytes) {
      const [kind, otherKind] = await both((file, { value }) => file.text(value, value + 1));
      if (kind !== otherKind) return differences.other(path, ...(await both(quoted)));
      if (kind === "{") {
        const [name, otherName] = await both((file, { start, value }) => file.text(start, value - 1));
        if (name !== otherName) differences.spelling(path, { count: 1, recorded: name, replayed: otherName });
        return members(path, ...(await both((file, member) => file.membersOf(member))));
      }
      if (size > MAX_VALUE_BYTES) throw tooLarge(recorded, path);
    }
    const texts = await both((file, { start, end }) => file.text(start, end));
    if (texts[0] === texts[1]) return;
    const total = differences.total;
    compareValues(path, ...(await both((file, member) => file.parse(member))), differences, mayLack);
    if (differences.total > total) return;
    const spelling = spellingOf(...texts);
    if (spelling !== undefined) return differences.spelling(path, spelling);
    // Another order of members, or a key that comes twice.
    differences.other(path, ...(await both((file, { value, end }) => file.text(value, end))));
  };
  await members([], recorded.members, replayed.members);
}

type Members = ReadonlyMap<string, Member>;

/** The value, or the start of its text if it is long. */
async function quoted(file: JsonFile, member: Member): Promise<unknown> {
  const { value, end } = member;
  return end - value <= PARSED_BYTES ? file.parse(member) : file.text(value, value + SHOWN_BYTES);
}

function tooLarge({ name }: JsonFile, path: Path): MucastError {
  const what = `${name} cannot be compared: its ${path.join(".")} has more than ${MAX_VALUE_BYTES} bytes`;
  return new MucastError("too_large", what, { source: name, limit: MAX_VALUE_BYTES });
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
