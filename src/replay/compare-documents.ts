import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type Entry, entriesOf, fileSource } from "../outputs/read-members.ts";
import { Differences, type Path, spellingOf } from "./differences.ts";

/** A JSON object in a file on this machine. */
export interface DocumentFile {
  readonly path: string;
  /** In errors. */
  readonly name: string;
}

/** Members that identify a run and its machine. A replay does not compare them. */
const NOT_COMPARED: ReadonlySet<string> = new Set(["id", "created_at", "machine"]);

/** A document's text without white space between its tokens: `{`, all members except NOT_COMPARED, joined by commas, and `}`. */
interface DigestedFile extends DocumentFile {
  readonly sha256: string;
  /** The number of numbers in that text. */
  readonly numbers: number;
  /** SHA-256 of each member, by name, in the order of the document. */
  readonly members: ReadonlyMap<string, string>;
}

const [SPACE, QUOTE, BACKSLASH, COMMA, COLON, OPEN] = Buffer.from(' "\\,:[');
/** `{` and `[` are these bytes, and `}` and `]` two more. */
const isOpening = (byte: number) => byte === 0x5b || byte === 0x7b;
const isClosing = (byte: number) => byte === 0x5d || byte === 0x7d;
const isNumberStart = (byte: number) => byte === 0x2d || (byte >= 0x30 && byte <= 0x39);

export async function digestOf({ path, name: source }: DocumentFile): Promise<DigestedFile> {
  const whole = createHash("sha256").update("{");
  const members = new Map<string, string>();
  let [depth, last, numbers, inString, isEscaped] = [0, 0, 0, false, false];
  /** Of the member that begins, until its value does. */
  let key: number[] | undefined = [];
  let [name, mark] = ["", ""];
  /** Of a member that is compared. */
  let member: Hash | undefined;
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 })) {
    const kept = Buffer.allocUnsafe(chunk.length);
    let length = 0;
    const flush = () => {
      const text = kept.subarray(0, length);
      length = 0;
      whole.update(text);
      member?.update(text);
    };
    for (const byte of chunk as Buffer) {
      if (inString) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else inString = byte !== QUOTE;
      } else {
        if (byte <= SPACE!) continue;
        inString = byte === QUOTE;
        if (isOpening(byte) && depth++ === 0) continue;
        if (isClosing(byte)) depth--;
        if ((byte === COMMA && depth === 1) || depth === 0) {
          flush();
          if (member !== undefined) members.set(name, member.digest("hex"));
          [member, key] = [undefined, []];
          continue;
        }
        if (byte === COLON && key !== undefined) {
          const text = Buffer.from(key).toString();
          [name, key] = [JSON.parse(text) as string, undefined];
          if (!NOT_COMPARED.has(name)) {
            whole.update(`${mark}${text}`);
            [mark, member] = [",", createHash("sha256").update(text)];
          }
        }
        if (member && isNumberStart(byte) && (last === OPEN || last === COMMA || last === COLON)) numbers++;
      }
      if (key !== undefined) key.push(byte);
      else if (member !== undefined) kept[length++] = byte;
      last = byte;
    }
    flush();
  }
  return { path, name: source, sha256: whole.update("}").digest("hex"), numbers, members };
}

/**
 * Compares two documents: members with other digests are parsed, one entry at a time.
 * @param isOtherBuild whether the recorded one may lack what later versions added.
 * @throws MucastError unreadable_blob, invalid_data for a value that is not JSON or has a key twice; too_large.
 */
export async function compareDocuments(
  recorded: DigestedFile,
  replayed: DigestedFile,
  isOtherBuild: boolean,
): Promise<Differences> {
  const differences = new Differences(isOtherBuild);
  if (recorded.sha256 === replayed.sha256) return differences;
  const isShared = (member: string) => recorded.members.has(member) && replayed.members.has(member);
  const isOther = (member: string) => recorded.members.get(member) !== replayed.members.get(member);
  const documents = [recorded, replayed].map(({ path, name }) =>
    entriesOf(fileSource(path, name), undefined, isOther),
  );
  /** Members whose entries come in another order. */
  const moved = new Set<string>();
  for await (const [before, after] of joined(documents, isShared)) {
    const { member, key } = (before ?? after)!;
    const path = key === undefined ? [member] : [member, key];
    if (after === undefined) differences.other(path, shownAlone(before!), undefined);
    else if (before === undefined) differences.added(path, shownAlone(after));
    else {
      if (before.index !== after.index) moved.add(member);
      compareEntries(path, before, after, differences);
    }
  }
  for (const member of recorded.members.keys()) {
    if (!isShared(member) || !isOther(member) || differences.found.has(member)) continue;
    if (moved.has(member)) differences.other([member], "members in this order", "members in another order");
    else differences.spelling([member], { count: 1, recorded: "its names", replayed: "the same names" });
  }
  if (differences.found.size === 0)
    differences.other([], "members in this order", "members in another order");
  return differences;
}

/** An entry, and how many of its member come before it. */
type Indexed = Entry & { readonly index: number };

/**
 * Pairs the entries of two documents, which need little memory if they have the same order.
 * @param isShared whether both have the member; of another one, only the member itself is yielded.
 * @yields each pair as soon as both have come; then those of only one document.
 */
async function* joined(
  documents: readonly ReturnType<typeof entriesOf>[],
  isShared: (member: string) => boolean,
): AsyncGenerator<readonly [before: Indexed | undefined, after: Indexed | undefined]> {
  const waiting = documents.map(() => new Map<string, Indexed>());
  const counts = documents.map(() => new Map<string, number>());
  try {
    for (let isOpen = true; isOpen; ) {
      isOpen = false;
      for (const [side, document] of documents.entries()) {
        const { value } = await document.next();
        if (value === undefined) continue;
        isOpen = true;
        const { member, key } = value;
        if (key !== undefined && !isShared(member)) continue;
        const entry = { ...value, index: counts[side]!.get(member) ?? 0 };
        counts[side]!.set(member, entry.index + 1);
        const path = JSON.stringify([member, key]);
        const pair = waiting[1 - side]!.get(path);
        if (pair === undefined) waiting[side]!.set(path, entry);
        else {
          waiting[1 - side]!.delete(path);
          yield side === 0 ? [entry, pair] : [pair, entry];
        }
      }
    }
    for (const entry of waiting[0]!.values()) yield [entry, undefined];
    for (const entry of waiting[1]!.values()) yield [undefined, entry];
  } finally {
    await Promise.all(documents.map((document) => document.return()));
  }
}

/** The value of an entry that only one document has; an object that has entries is not shown. */
function shownAlone({ key, value, text }: Entry): unknown {
  return key === undefined && text === "{}" ? "{…}" : value;
}

function compareEntries(path: Path, before: Entry, after: Entry, differences: Differences): void {
  if (before.text === after.text) return;
  const { total } = differences;
  compareValues(path, before.value, after.value, differences);
  if (differences.total > total) return;
  const spelling = spellingOf(before.text, after.text);
  if (spelling === undefined) differences.other(path, before.text, after.text);
  else if (spelling.count > 0) differences.spelling(path, spelling);
}

/** Counts every difference between two JSON values, in the order of the recorded one. */
function compareValues(path: Path, recorded: unknown, replayed: unknown, differences: Differences): void {
  if (Array.isArray(recorded) && Array.isArray(replayed)) {
    const shared = Math.min(recorded.length, replayed.length);
    for (let i = 0; i < shared; i++) compareValues([...path, i], recorded[i], replayed[i], differences);
    if (recorded.length !== replayed.length)
      differences.other([...path, "length"], recorded.length, replayed.length);
  } else if (isObject(recorded) && isObject(replayed)) {
    for (const [key, value] of Object.entries(recorded)) {
      if (!Object.hasOwn(replayed, key)) differences.other([...path, key], value, undefined);
      else compareValues([...path, key], value, replayed[key], differences);
    }
    for (const [key, value] of Object.entries(replayed))
      if (!Object.hasOwn(recorded, key)) differences.added([...path, key], value);
  } else if (Number.isFinite(recorded) && typeof replayed === "number") {
    if (!Object.is(recorded, replayed)) differences.number(path, recorded as number, replayed);
  } else if (recorded !== replayed) {
    // From a text such as 1e999, which no job writes.
    differences.other(path, typeof recorded === "number" ? String(recorded) : recorded, replayed);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
