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

/**
 * Compares two documents, one entry at a time while they have the same order.
 * @param isOtherBuild whether the recorded one may lack what later versions added.
 * @returns what differs; the SHA-256 of the compared text of both: `{`, all members except NOT_COMPARED without white space between tokens,
 *   joined by commas, and `}`; and the number of numbers in the recorded one.
 * @throws MucastError unreadable_blob, invalid_data for a value that is not JSON or has a key twice; too_large.
 */
export async function compareDocuments(
  recorded: DocumentFile,
  replayed: DocumentFile,
  isOtherBuild: boolean,
) {
  const differences = new Differences(isOtherBuild);
  const [before, after] = [new ComparedText(recorded), new ComparedText(replayed)];
  const sides = [before.entries, after.entries];
  /** Members whose entries come in another order. */
  const moved = new Set<string>();
  /** What only one has had so far, as both are read in turn. */
  const waiting = new Map<string, [Indexed?, Indexed?]>();
  try {
    for (let [side, ended] = [0, 0]; ended < 2; side = 1 - side) {
      const { value: entry, done } = await sides[side]!.next();
      ended = done === true ? ended + 1 : 0;
      if (done === true) continue;
      const id = JSON.stringify([entry.member, entry.key]);
      const pair = waiting.get(id) ?? [];
      waiting.set(id, pair);
      pair[side] = entry;
      const [one, other] = pair;
      if (!one || !other) continue;
      waiting.delete(id);
      if (one.index !== other.index) moved.add(one.member);
      compareEntries(one, other, differences);
    }
  } finally {
    for (const entries of sides) await entries.return();
  }
  for (const [one, other] of waiting.values()) {
    const entry = (one ?? other)!;
    const isShared = [before, after].every(({ members }) => members.has(entry.member));
    if (entry.key !== undefined && !isShared) continue;
    const shown = [pathOf(entry), shownAlone(entry)] as const;
    if (one) differences.other(...shown, undefined);
    else differences.added(...shown);
  }
  const order = [...before.members].filter((member) => after.members.has(member));
  const otherOrder = [...after.members].filter((member) => before.members.has(member));
  if (differences.found.size === 0 && order.some((member, i) => member !== otherOrder[i])) moved.add("");
  for (const member of moved)
    if (!differences.found.has(member))
      differences.other(member === "" ? [] : [member], "members in this order", "members in another order");
  return { differences, sha256: before.sha256, replayed_sha256: after.sha256, numbers: before.numbers };
}

/** An entry, with its compact text, and how many of its member come before it. */
type Indexed = Entry & { readonly index: number };

function pathOf({ member, key }: Entry): Path {
  return key === undefined ? [member] : [member, key];
}

/** The entries of a document that are compared, and what all of them add up to once they have been read. */
class ComparedText {
  readonly entries: AsyncGenerator<Indexed, void, void>;
  readonly members = new Set<string>();
  numbers = 0;
  sha256 = "";

  constructor(file: DocumentFile) {
    this.entries = this.#read(file);
  }

  async *#read({ path, name }: DocumentFile): AsyncGenerator<Indexed, void, void> {
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

/** The value of an entry that only one document has; an object that has entries is not shown. */
function shownAlone({ key, value, text }: Entry): unknown {
  return key === undefined && text === "{}" ? "{…}" : value;
}

function compareEntries(before: Entry, after: Entry, differences: Differences): void {
  if (before.text === after.text) return;
  const { total } = differences;
  compareValues(pathOf(before), before.value, after.value, differences);
  if (differences.total > total) return;
  const isSame = JSON.stringify(before.value) === JSON.stringify(after.value);
  differences[isSame ? "spelling" : "other"](pathOf(before), before.text, after.text);
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
