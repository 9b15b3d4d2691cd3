import { createHash } from "node:crypto";
import { type Entry, entriesOf, fileSource } from "../outputs/read-members.ts";
import { Differences, type Path } from "./differences.ts";

/** A JSON object in a file on this machine. */
export interface DocumentFile {
  readonly path: string;
  /** In errors. */
  readonly name: string;
}

/** Members that identify a run and its machine. A replay does not compare them. */
const NOT_COMPARED: ReadonlySet<string> = new Set(["id", "created_at", "machine"]);

/** What is known of two documents. */
export interface Comparison {
  readonly differences: Differences;
  /** SHA-256 of their compared text: `{`, all members except NOT_COMPARED without white space between tokens, joined by commas, and `}`. */
  readonly sha256: string;
  readonly replayed_sha256: string;
  /** The number of numbers in the recorded one. */
  readonly numbers: number;
}

/**
 * Compares two documents, one entry at a time.
 * @param isOtherBuild whether the recorded one may lack what later versions added.
 * @throws MucastError unreadable_blob, invalid_data for a value that is not JSON or has a key twice; too_large.
 */
export async function compareDocuments(
  recorded: DocumentFile,
  replayed: DocumentFile,
  isOtherBuild: boolean,
): Promise<Comparison> {
  const differences = new Differences(isOtherBuild);
  const documents = [new ComparedText(), new ComparedText()] as const;
  const entries = [documents[0].read(recorded), documents[1].read(replayed)] as const;
  /** Members whose entries come in another order. */
  const moved = new Set<string>();
  for await (const [before, after] of joined(entries)) {
    const { member, key } = (before ?? after)!;
    const path = key === undefined ? [member] : [member, key];
    const isInOneOnly = documents.some(({ members }) => !members.has(member));
    if (key !== undefined && isInOneOnly) continue;
    if (after === undefined) differences.other(path, shownAlone(before!), undefined);
    else if (before === undefined) differences.added(path, shownAlone(after));
    else {
      if (before.index !== after.index) moved.add(member);
      compareEntries(path, before, after, differences);
    }
  }
  const orders = documents.map(({ members }, side) =>
    [...members].filter((member) => documents[1 - side]!.members.has(member)),
  );
  if (differences.found.size === 0 && orders[0]!.some((member, i) => member !== orders[1]![i])) moved.add("");
  for (const member of moved)
    if (!differences.found.has(member))
      differences.other(member === "" ? [] : [member], "members in this order", "members in another order");
  const [{ sha256, numbers }, { sha256: replayed_sha256 }] = documents;
  return { differences, sha256, replayed_sha256, numbers };
}

/** The entries of a document that are compared, and what all of them add up to once they have been read. */
class ComparedText {
  readonly members = new Set<string>();
  numbers = 0;
  sha256 = "";

  async *read({ path, name }: DocumentFile): AsyncGenerator<Indexed> {
    const hash = createHash("sha256");
    let [opening, closing, index] = ["{", "", 0];
    const isCompared = (member: string) => !NOT_COMPARED.has(member);
    for await (const entry of entriesOf(fileSource(path, name), undefined, isCompared)) {
      const { member, key, value } = entry;
      const text = compact(entry.text);
      if (key === undefined) {
        this.members.add(member);
        const hasEntries = text === "{}";
        hash.update(`${closing}${opening}${JSON.stringify(member)}:${hasEntries ? "{" : text}`);
        [opening, closing, index] = [",", hasEntries ? "}" : "", 0];
      } else hash.update(`${index++ === 0 ? "" : ","}${JSON.stringify(key)}:${text}`);
      this.numbers += countNumbers(value);
      yield { ...entry, text, index };
    }
    this.sha256 = hash.update(`${closing}${this.members.size === 0 ? "{" : ""}}`).digest("hex");
  }
}

/** JSON text without white space between its tokens. */
function compact(text: string): string {
  return /\s/.test(text) ? text.replace(/("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g, "$1") : text;
}

function countNumbers(value: unknown): number {
  if (typeof value === "number") return 1;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce<number>((sum, inner) => sum + countNumbers(inner), 0);
}

/** An entry, with its compact text, and how many of its member come before it. */
type Indexed = Entry & { readonly index: number };

/**
 * Pairs the entries of two documents, which need little memory if they have the same order.
 * @yields each pair as soon as both have come; then those of only one document.
 */
async function* joined(
  documents: readonly [AsyncGenerator<Indexed>, AsyncGenerator<Indexed>],
): AsyncGenerator<readonly [before: Indexed | undefined, after: Indexed | undefined]> {
  const waiting = [new Map<string, Indexed>(), new Map<string, Indexed>()] as const;
  try {
    for (let isOpen = true; isOpen; ) {
      isOpen = false;
      for (const side of [0, 1] as const) {
        const { value: entry, done } = await documents[side].next();
        if (done === true) continue;
        isOpen = true;
        const path = JSON.stringify([entry.member, entry.key]);
        const other = waiting[side === 0 ? 1 : 0];
        const pair = other.get(path);
        if (pair === undefined) waiting[side].set(path, entry);
        else {
          other.delete(path);
          yield side === 0 ? [entry, pair] : [pair, entry];
        }
      }
    }
    for (const entry of waiting[0].values()) yield [entry, undefined];
    for (const entry of waiting[1].values()) yield [undefined, entry];
  } finally {
    await Promise.all(documents.map((document) => document.return(undefined)));
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
  const isSame = JSON.stringify(before.value) === JSON.stringify(after.value);
  differences[isSame ? "spelling" : "other"](path, before.text, after.text);
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
