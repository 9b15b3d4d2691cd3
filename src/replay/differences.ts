import { boundedCopy, shortText } from "../contract/json/bounded-json.ts";
import { REPLAY_LISTS, type ReplayBlob, type ReportedDifference } from "../contract/output/replay-blob.ts";

/** Keys and indices on the path to a value. */
export type Path = readonly (string | number)[];

/** Maximum size of quotations from an output in a verdict: bytes of a whole value, and characters of a text. */
export const MAX_QUOTED = { bytes: 400, text: 200 };

interface MemberCount {
  numbers: number;
  others: number;
  largest: number | null;
}

/** Counts and lists the differences between two documents, in bounded memory. */
export class Differences {
  #numbers = 0;
  #others = 0;
  #spellings = 0;
  #lacking = 0;
  #first: ReportedDifference | undefined;
  #firstSpelling: ReportedDifference | undefined;
  #largest: ReportedDifference | undefined;
  #largestRelative: ReportedDifference | undefined;
  readonly #members = new Map<string, MemberCount>();
  readonly #lacks = new Set<string>();

  /** The number of differences, including members that one document lacks. */
  get total(): number {
    return this.#numbers + this.#others + this.#spellings + this.#lacking;
  }

  /** Members that the recorded document lacks and that do not count as differences. */
  get lacks(): string[] {
    return [...this.#lacks];
  }

  /** @param recorded a finite number, like `replayed`. */
  number(path: Path, recorded: number, replayed: number): void {
    const absolute = Math.min(Math.abs(replayed - recorded), Number.MAX_VALUE);
    const quotient = absolute / Math.abs(recorded);
    const relative = Number.isFinite(quotient) ? quotient : null;
    const difference = { path: pathText(path), recorded, replayed, absolute, relative };
    const member = this.#member(path);
    this.#numbers += 1;
    member.numbers += 1;
    member.largest = Math.max(member.largest ?? 0, absolute);
    this.#first ??= difference;
    if (absolute > (this.#largest?.absolute ?? -1)) this.#largest = difference;
    if (relative !== null && relative > (this.#largestRelative?.relative ?? -1))
      this.#largestRelative = difference;
  }

  /** @param recorded undefined if that document has no such member, and likewise for `replayed`. */
  other(path: Path, recorded: unknown, replayed: unknown): void {
    this.#others += 1;
    this.#member(path).others += 1;
    this.#first ??= { path: pathText(path), ...shownPair(recorded, replayed) };
  }

  /** Values that are equal but written differently. */
  spelling(path: Path, { count, recorded, replayed }: Spelling): void {
    this.#spellings += count;
    this.#firstSpelling ??= { path: pathText(path), ...shownPair(recorded, replayed) };
  }

  /** @param pattern a path with `*` for names and indices. */
  lack(pattern: string): void {
    this.#lacking += 1;
    if (this.#lacks.size < REPLAY_LISTS.lacks) this.#lacks.add(pattern);
  }

  /** Undefined if nothing differs. */
  summary(): ReplayBlob["differences"] {
    const first = this.#first ?? this.#firstSpelling;
    if (first === undefined) return undefined;
    const members = [...this.#members].slice(0, REPLAY_LISTS.facts);
    return {
      numbers: this.#numbers,
      others: this.#others,
      ...(this.#spellings === 0 ? {} : { spellings: this.#spellings }),
      first,
      largest: this.#largest ?? null,
      largest_relative: this.#largestRelative ?? null,
      members: members.map(([name, counts]) => ({ name, ...counts })),
    };
  }

  #member([name = ""]: Path): MemberCount {
    const key = this.#members.size < MAX_MEMBERS ? cut(String(name)) : [...this.#members.keys()].at(-1)!;
    const known = this.#members.get(cut(String(name))) ?? this.#members.get(key);
    if (known !== undefined) return known;
    const fresh = { numbers: 0, others: 0, largest: null };
    this.#members.set(key, fresh);
    return fresh;
  }
}

/** A document of this schema has far fewer at its top; in other documents the last one counts for the rest. */
const MAX_MEMBERS = REPLAY_LISTS.facts;

/** Both sides of a difference; if a text is too long, both from a little before the place where they differ. */
function shownPair(recorded: unknown, replayed: unknown): Partial<ReportedDifference> {
  if (typeof recorded === "string" && typeof replayed === "string" && [recorded, replayed].some(isLong))
    [recorded, replayed] = fromDifference(recorded, replayed, SHOWN_BEFORE);
  return { ...shown("recorded", recorded), ...shown("replayed", replayed) };
}

function isLong(text: string): boolean {
  return shortText(text, MAX_QUOTED.text) !== text;
}

/** Characters, of at most six bytes each, so that what differs is within MAX_QUOTED. */
const SHOWN_BEFORE = 25;

/** Two texts from `before` characters before the first one that differs, behind an ellipsis. */
export function fromDifference(
  recorded: string,
  replayed: string,
  before: number,
): [recorded: string, replayed: string] {
  let start = 0;
  while (start < recorded.length && recorded[start] === replayed[start]) start += 1;
  start -= before;
  if (start <= 0) return [recorded, replayed];
  // No surrogate pair is cut.
  if (recorded.codePointAt(start - 1)! > 0xffff) start -= 1;
  return [`…${recorded.slice(start)}`, `…${replayed.slice(start)}`];
}

function shown(side: "recorded" | "replayed", value: unknown): Partial<ReportedDifference> {
  return value === undefined ? {} : { [side]: boundedCopy(value, MAX_QUOTED) ?? null };
}

const MAX_PART_LENGTH = 100;

function cut(text: string): string {
  return text.length > MAX_PART_LENGTH ? `${text.slice(0, MAX_PART_LENGTH)}…` : text;
}

/** Such as `forecasts.AAA.predicted[3]` or `mu["BRK.B"]`. */
function pathText(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    if (!/^[\w$-]+$/.test(part)) return `${text}[${JSON.stringify(cut(part))}]`;
    return text === "" ? cut(part) : `${text}.${cut(part)}`;
  }, "");
}

/** How the spelling of equal JSON differs between two texts. */
interface Spelling {
  /** Numbers, strings and keys with different spellings. */
  readonly count: number;
  /** The first of them, in both texts. */
  readonly recorded: string;
  readonly replayed: string;
}

const MARKS: ReadonlySet<string> = new Set("{}[],:");

/**
 * @yields strings and keys, punctuation, numbers and words. It is a loop, because a regular expression would need a stack as deep as
 * a text is long.
 */
function* tokensOf(json: string): Generator<string> {
  for (let start = 0, end = 0; start < json.length; start = end) {
    end = start + 1;
    if (json[start] === '"') {
      while (end < json.length && json[end] !== '"') end += json[end] === "\\" ? 2 : 1;
      end += 1;
    } else if (!MARKS.has(json[start]!)) {
      while (end < json.length && json[end] !== '"' && !MARKS.has(json[end]!)) end += 1;
    }
    yield json.slice(start, end);
  }
}

/**
 * Compares two JSON texts without white space between tokens: another writer spells 1e-7 as 1e-07, 1 as 1.0 or ä as \u00e4.
 * @returns undefined if they differ in more than spelling, for example in the order of members or in a duplicate key.
 */
export function spellingOf(recorded: string, replayed: string): Spelling | undefined {
  const others = tokensOf(replayed);
  let count = 0;
  let first: readonly [string, string] = ["", ""];
  for (const token of tokensOf(recorded)) {
    const { value: other, done } = others.next();
    if (other === token) continue;
    if (done || !isSameValue(token, other)) return undefined;
    if (count === 0) first = [token, other];
    count += 1;
  }
  if (!others.next().done || count === 0) return undefined;
  return { count, recorded: first[0], replayed: first[1] };
}

/** Whether two tokens are the same number, string or word. */
function isSameValue(token: string, other: string): boolean {
  const [value, otherValue] = [scalar(token), scalar(other)];
  return value !== undefined && Object.is(value, otherValue);
}

function scalar(token: string): unknown {
  try {
    return JSON.parse(token);
  } catch {
    return undefined;
  }
}
