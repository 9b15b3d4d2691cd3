import { type Fault, MucastError } from "../../errors/errors.ts";
import { invalidRequest, joinPath, listedFaults, MAX_FAULTS } from "../../errors/faults.ts";
import { printable } from "../../errors/wording.ts";
import type { RawJson, RawObject } from "../../json/json-text.ts";
import type { Warning } from "../../problems/warnings.ts";
import { LIMITS } from "../limits.ts";
import { drawnPoints, gridPoints, gridSize, type SearchPoint } from "./candidate-search.ts";
import type { CandidateSearch, ChoiceMeasure, ChoiceRule } from "./choice-config.ts";

/** A config's `choice` with every candidate resolved. */
export interface Choice<Settings> {
  readonly rule: ChoiceRule;
  readonly measure: ChoiceMeasure;
  readonly seed: number;
  /** The first is the config itself. */
  readonly candidates: readonly Candidate<Settings>[];
}

export interface Candidate<Settings> {
  /** Unique within the job. */
  readonly label: string;
  readonly settings: Settings;
}

/** How a job reads the entries of its `choice`. */
export interface EntryReader<Settings, Entry> {
  /** The path of `choice` in messages. */
  readonly path: string;
  /** The job's own settings, which are candidate 0, and their name. */
  readonly own: { readonly settings: Settings; readonly name: string };
  /**
   * The settings of an entry at one point of its search.
   * @param path of the entry.
   * @throws MucastError of its settings.
   */
  resolve(
    entry: Entry,
    raw: RawObject,
    point: SearchPoint,
    path: string,
  ): { readonly settings: Settings; readonly warnings: readonly Warning[] };
  /** The parts of a label that name what an entry sets, besides the values of its search. */
  partsOf(entry: Entry, settings: Settings, point: SearchPoint): readonly string[];
  /** A text that is equal for settings that give the same forecasts. */
  identityOf(settings: Settings): string;
}

/**
 * Finding a fault takes time, because its message may suggest a name. A small config may have thousands in each of 100 candidates, most of
 * them the same, and an error lists MAX_FAULTS.
 */
const MAX_FAULTS_READ = 10 * MAX_FAULTS;

type LabelledEntry = CandidateSearch & { readonly label?: string | undefined };

/**
 * The candidates of a checked `choice`: the config itself, then the entries with their grids and draws, in order.
 * @param raw the entries in the tree of `rawNumbers`.
 * @throws MucastError invalid_request for too many or equal candidates; the error of an entry, with the faults of all, or of the first
 * candidates that have MAX_FAULTS_READ.
 */
export function readCandidates<Settings, Entry extends LabelledEntry>(
  entries: readonly Entry[],
  raw: readonly RawObject[],
  seed: number,
  reader: EntryReader<Settings, Entry>,
): { readonly candidates: readonly Candidate<Settings>[]; readonly warnings: readonly Warning[] } {
  requirePlainKeys(raw, reader.path);
  requireFewCandidates(entries, reader.path);
  const found: FoundCandidate<Settings>[] = [
    { settings: reader.own.settings, path: "the config itself", parts: [reader.own.name] },
  ];
  const warnings: Warning[] = [];
  const errors: MucastError[] = [];
  let faults = 0;
  for (const [i, entry] of entries.entries()) {
    const path = `${reader.path}.candidates[${i}]`;
    const points = [...pointsOf(entry, raw[i]!, seed, i)];
    if (points.length < sizeOf(entry)) errors.push(fewPoints(entry, points.length, path));
    for (const point of points) {
      try {
        const { settings, warnings: own } = reader.resolve(entry, raw[i]!, point, path);
        found.push({ settings, path, parts: labelParts(entry, settings, point, reader) });
        warnings.push(...own);
      } catch (error) {
        if (!(error instanceof MucastError)) throw error;
        errors.push(error);
        faults += error.data.faults?.length ?? 1;
        if (faults >= MAX_FAULTS_READ) throw merged(errors);
      }
    }
  }
  if (errors.length > 0) throw merged(errors);
  requireDifferent(found, reader);
  return { candidates: uniquelyLabelled(found), warnings: distinct(warnings) };
}

/** The schema's copy lacks the key `__proto__` of a record, so the schema has not checked what is under it. */
function requirePlainKeys(raw: readonly RawObject[], path: string): void {
  const all = raw.flatMap((entry, i) => protoPaths(entry, `${path}.candidates[${i}]`));
  if (all.length > 0) throw invalidRequest(all.map((at) => ({ path: at, message: "is not a name" })));
}

function protoPaths(value: RawJson, path: string): string[] {
  if (typeof value !== "object" || value === null) return [];
  const parts: [PropertyKey, RawJson][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return parts.flatMap(([key, held]) => {
    const at = joinPath(path, [key]);
    return key === "__proto__" ? [at] : protoPaths(held, at);
  });
}

function requireFewCandidates(entries: readonly CandidateSearch[], path: string): void {
  const count = entries.reduce((sum, entry) => sum + sizeOf(entry), 1);
  if (count <= LIMITS.candidates) return;
  const shown = Number.isSafeInteger(count) ? count : `more than ${Number.MAX_SAFE_INTEGER}`;
  const message = `expands to ${shown} candidates, with the config itself as the first; at most ${LIMITS.candidates} are accepted`;
  throw invalidRequest([{ path: `${path}.candidates`, message }]);
}

function sizeOf({ grid, draws }: CandidateSearch): number {
  return grid === undefined ? (draws ?? 1) : gridSize(grid);
}

function pointsOf(
  { grid, draws, draw }: CandidateSearch,
  raw: RawObject,
  seed: number,
  stream: number,
): Iterable<SearchPoint> {
  if (grid !== undefined) return gridPoints(raw.grid as Readonly<Record<string, readonly RawJson[]>>);
  if (draws !== undefined && draw !== undefined) return drawnPoints(draws, draw, seed, stream);
  return [new Map()];
}

function fewPoints({ draws }: CandidateSearch, found: number, path: string): MucastError {
  const message = `${draws} draws of ${found === 1 ? "a single point" : `only ${found} different points`}; ask for no more than there are, or give a wider range`;
  return invalidRequest([{ path: `${path}.draws`, message }]);
}

/** A candidate, where its entry is, and the parts of its label. */
interface FoundCandidate<Settings> {
  readonly settings: Settings;
  readonly path: string;
  readonly parts: readonly string[];
}

function labelParts<Settings, Entry extends LabelledEntry>(
  entry: Entry,
  settings: Settings,
  point: SearchPoint,
  { partsOf }: EntryReader<Settings, Entry>,
): string[] {
  const varied = [...point].map(([name, value]) => `${name}=${valueText(value)}`);
  return [...(entry.label === undefined ? partsOf(entry, settings, point) : [entry.label]), ...varied];
}

/** The most values that a label names, besides those of a search. */
const MAX_NAMED = 4;

/** The parts of a label for values that an entry sets, without those that its search sets. */
export function namedValues(values: Readonly<Record<string, unknown>>, point: SearchPoint): string[] {
  const own = Object.entries(values).filter(([name]) => !point.has(name));
  return own.slice(0, MAX_NAMED).map(([name, value]) => `${name}=${valueText(value)}`);
}

function valueText(value: unknown): string {
  return printable(typeof value === "string" ? value : JSON.stringify(value));
}

/** One error with the faults of several, each once. */
function merged(errors: readonly MucastError[]): MucastError {
  const faults = new Map<string, Fault>();
  for (const { message, data } of errors) {
    const own = data.faults ?? [{ path: data.path ?? "config", message }];
    for (const fault of own) faults.set(`${fault.path}\n${fault.message}`, fault);
  }
  return withFaults(errors[0]!, [...faults.values()]);
}

/** The same error with other faults. */
export function withFaults({ code, data }: MucastError, all: readonly Fault[]): MucastError {
  const { message, faults } = listedFaults(all);
  return new MucastError(code, message, { ...data, path: faults[0]!.path, faults });
}

function requireDifferent<Settings, Entry>(
  all: readonly FoundCandidate<Settings>[],
  { identityOf }: EntryReader<Settings, Entry>,
): void {
  const seen = new Map<string, number>();
  for (const [i, { settings, path, parts }] of all.entries()) {
    const key = identityOf(settings);
    const earlier = seen.get(key);
    if (earlier !== undefined) {
      const message = `${parts.join(" ")} is the same as candidate ${earlier} (${all[earlier]!.path}); remove one of them`;
      throw invalidRequest([{ path, message }]);
    }
    seen.set(key, i);
  }
}

const MAX_LABEL = 80;

/** Labels that occur several times get the candidate's number. */
function uniquelyLabelled<Settings>(all: readonly FoundCandidate<Settings>[]): Candidate<Settings>[] {
  const labels = all.map(({ parts }) => parts.join(" ").slice(0, MAX_LABEL));
  const counts = Map.groupBy(labels, (label) => label);
  return all.map(({ settings }, i) => {
    const label = labels[i]!;
    return { label: counts.get(label)!.length > 1 ? `${label} (${i})` : label, settings };
  });
}

function distinct(warnings: readonly Warning[]): Warning[] {
  return [...new Map(warnings.map((warning) => [warning.message, warning])).values()];
}
