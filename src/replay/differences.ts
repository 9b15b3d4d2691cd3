import { z } from "zod";
import { boundedCopy, shortText } from "../contract/json/bounded-json.ts";
import { outputBlobSchema } from "../contract/output/output-blob.ts";
import { REPLAY_LISTS, type ReplayBlob, type ReportedDifference } from "../contract/output/replay-blob.ts";

/** Keys and indices on the path to a value. The first one is a member of the document. */
export type Path = readonly (string | number)[];

/** Maximum size of quotations from an output in a verdict: bytes of a whole value, and characters of a text. */
export const MAX_QUOTED = { bytes: 400, text: 200 };

interface MemberCount {
  numbers: number;
  others: number;
  largest: number | null;
}

/** Counts the differences between two documents, and keeps those that a verdict shows. */
export class Differences {
  #spellings = 0;
  #first: ReportedDifference | undefined;
  /** In `provenance`, where another version always differs. */
  #firstOrigin: ReportedDifference | undefined;
  #firstSpelling: ReportedDifference | undefined;
  #largest: ReportedDifference | undefined;
  #largestRelative: ReportedDifference | undefined;
  readonly #members = new Map<string, MemberCount>();
  readonly #lacks = new Set<string>();
  /** Members with anything that differs, also in its spelling, or that one document lacks. */
  readonly found = new Set<string>();
  /** The number of calls that found such a difference. */
  total = 0;
  readonly #isOtherBuild: boolean;

  constructor(isOtherBuild: boolean) {
    this.#isOtherBuild = isOtherBuild;
  }

  /** Paths that the recorded document lacks and that do not count as differences. */
  get lacks(): string[] {
    return [...this.#lacks].slice(0, REPLAY_LISTS.lacks);
  }

  number(path: Path, recorded: number, replayed: number): void {
    const absolute = Math.min(Math.abs(replayed - recorded), Number.MAX_VALUE);
    const quotient = absolute / Math.abs(recorded);
    const relative = Number.isFinite(quotient) ? quotient : null;
    const difference = { path: pathText(path), recorded, replayed, absolute, relative };
    const member = this.#count(path, difference);
    member.numbers += 1;
    member.largest = Math.max(member.largest ?? 0, absolute);
    if (absolute > (this.#largest?.absolute ?? -1)) this.#largest = difference;
    if (relative !== null && relative > (this.#largestRelative?.relative ?? -1))
      this.#largestRelative = difference;
  }

  /** @param recorded undefined if that document has no such member, and likewise for `replayed`. */
  other(path: Path, recorded: unknown, replayed: unknown): void {
    this.#count(path, { path: pathText(path), ...shownPair(recorded, replayed) }).others += 1;
  }

  /** A member that only the replayed document has. */
  added(path: Path, value: unknown): void {
    const pattern = this.#isOtherBuild ? optionalPath(path) : undefined;
    if (pattern === undefined) this.other(path, undefined, value);
    else {
      this.#note(path);
      this.#lacks.add(pattern);
    }
  }

  /** Values that are equal but written differently. */
  spelling(path: Path, recorded: string, replayed: string): void {
    this.#note(path);
    this.#spellings += 1;
    this.#firstSpelling ??= { path: pathText(path), ...shownPair(recorded, replayed) };
  }

  /** Undefined if nothing differs. */
  summary(): ReplayBlob["differences"] {
    const first = this.#first ?? this.#firstOrigin ?? this.#firstSpelling;
    if (first === undefined) return undefined;
    const counts = [...this.#members.values()];
    const members = [...this.#members].slice(0, REPLAY_LISTS.facts);
    return {
      numbers: counts.reduce((sum, { numbers }) => sum + numbers, 0),
      others: counts.reduce((sum, { others }) => sum + others, 0),
      ...(this.#spellings === 0 ? {} : { spellings: this.#spellings }),
      first,
      largest: this.#largest ?? null,
      largest_relative: this.#largestRelative ?? null,
      members: members.map(([name, count]) => ({ name: shortName(name), ...count })),
    };
  }

  #note([name = ""]: Path): void {
    this.total += 1;
    this.found.add(String(name));
  }

  #count(path: Path, difference: ReportedDifference): MemberCount {
    this.#note(path);
    const [name = ""] = path;
    if (name === "provenance") this.#firstOrigin ??= difference;
    else this.#first ??= difference;
    const count = this.#members.get(String(name)) ?? { numbers: 0, others: 0, largest: null };
    this.#members.set(String(name), count);
    return count;
  }
}

/** Characters of at most six bytes each, so that what differs is within MAX_QUOTED. */
const SHOWN_BEFORE = 25;

/** Both sides of a difference; if a text is too long, both from a little before the place where they differ. */
function shownPair(recorded: unknown, replayed: unknown): Partial<ReportedDifference> {
  const isLong = (text: string) => shortText(text, MAX_QUOTED.text) !== text;
  if (typeof recorded === "string" && typeof replayed === "string" && [recorded, replayed].some(isLong))
    [recorded, replayed] = fromDifference(recorded, replayed, SHOWN_BEFORE);
  const sides = Object.entries({ recorded, replayed }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(sides.map(([side, value]) => [side, boundedCopy(value, MAX_QUOTED) ?? null]));
}

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

/** Such as `forecasts.AAA.predicted[3]` or `mu["BRK.B"]`. */
function pathText(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    const name = shortName(part);
    if (!/^[\w$-]+$/.test(part)) return `${text}[${JSON.stringify(name)}]`;
    return text === "" ? name : `${text}.${name}`;
  }, "");
}

const MAX_NAME_LENGTH = 100;

function shortName(name: string): string {
  return name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
}

/**
 * The pattern of a path that an output of another version may lack, such as `metrics.score.by_ticker.*.up_share`: of members that are optional
 * in the schema, because later versions added them, and of settings of the resolved configuration (`model`). Undefined for other paths.
 */
function optionalPath(path: Path): string | undefined {
  let schema: z.ZodType = outputBlobSchema;
  const pattern: (string | number)[] = [];
  for (const [depth, part] of path.entries()) {
    while (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
      schema = schema.unwrap() as z.ZodType;
    if (schema instanceof z.ZodObject) {
      const member: z.ZodType | undefined = schema.shape[part];
      pattern.push(part);
      if (member === undefined) {
        // A strict object has a catchall too, which accepts nothing.
        const { catchall } = schema.def;
        if (catchall === undefined || catchall instanceof z.ZodNever) return undefined;
        const rest = path.slice(depth + 1).map((inner) => (typeof inner === "number" ? "*" : inner));
        return [...pattern, ...rest].join(".");
      }
      if (depth === path.length - 1) return member instanceof z.ZodOptional ? pattern.join(".") : undefined;
      schema = member;
    } else if (schema instanceof z.ZodRecord || schema instanceof z.ZodArray) {
      pattern.push("*");
      schema = (schema instanceof z.ZodArray ? schema.element : schema.valueType) as z.ZodType;
    } else return undefined;
  }
  return undefined;
}
