import { type Fault, fault, MucastError } from "../errors/errors.ts";
import { invalidRequest, listedFaults, MAX_FAULTS } from "../errors/faults.ts";
import { printable } from "../errors/wording.ts";
import { canonicalJson, type RawJson, type RawNumber, type RawObject, rawNumber } from "../json/json-text.ts";
import type { Warning } from "../problems/warnings.ts";
import type { CandidateEntry, ChoiceMeasure, ChoiceRule, DrawSpec } from "./choice-config.ts";
import { LIMITS } from "./limits.ts";

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

/** Parameters with one value each, in the order in which the caller names them. */
type SearchPoint = ReadonlyMap<string, RawJson>;

interface CandidateReader<Settings, Entry> {
  /** The path of the job's section in messages. */
  readonly section: string;
  readonly own: Settings;
  nameOf(settings: Settings): string;
  /**
   * The settings of the config with what an entry sets at one point of its search.
   * @param sets the members of the entry that are settings, in the tree of `rawNumbers`.
   * @param path of the entry. @throws MucastError of its settings.
   */
  resolve(
    sets: RawObject,
    point: SearchPoint,
    path: string,
  ): { readonly settings: Settings; readonly warnings: readonly Warning[] };
  /** The member that holds the values of a search. Faults name the grid or the draw in its place. */
  readonly searchedIn?: string;
  /** What an entry sets and a label names. */
  valuesOf(entry: Entry, settings: Settings): Readonly<Record<string, unknown>>;
  /** The settings that decide the forecasts. */
  readonly identity: readonly (keyof Settings)[];
}

/** Finding a fault takes time, because its message may suggest a name, and a small config may have thousands in each of 100 candidates. */
const MAX_FAULTS_READ = 10 * MAX_FAULTS;

/**
 * The candidates of a checked `choice`: the config itself, then the entries with their grids and draws, in order.
 * @param raw the entries in the tree of `rawNumbers`.
 * @throws MucastError invalid_request for too many or equal candidates; the error of an entry, with the faults of all, or of the first
 * candidates that have MAX_FAULTS_READ.
 */
export function readCandidates<Settings, Entry extends CandidateEntry>(
  given: Omit<Choice<Settings>, "candidates"> & { readonly candidates: readonly Entry[] },
  raw: readonly RawObject[],
  reader: CandidateReader<Settings, Entry>,
): { readonly choice: Choice<Settings>; readonly warnings: readonly Warning[] } {
  const { section, own, nameOf } = reader;
  const listPath = `${section}.choice.candidates`;
  const count = given.candidates.reduce((sum, entry) => sum + sizeOf(entry), 1);
  if (count > LIMITS.candidates) {
    const shown = Number.isSafeInteger(count) ? count : `more than ${Number.MAX_SAFE_INTEGER}`;
    const message = `expands to ${shown} candidates, with the config itself as the first; at most ${LIMITS.candidates} are accepted`;
    throw invalidRequest([fault(listPath, message)]);
  }
  const found = [{ settings: own, path: "the config itself", text: nameOf(own) }];
  const warnings = new Map<string, Warning>();
  const faults = new Map<string, Fault>();
  let first: MucastError | undefined;
  let read = 0;
  const refuse = (error: MucastError, all: readonly Fault[]) => {
    first ??= error;
    read += all.length;
    for (const one of all) faults.set(`${one.path}\n${one.message}`, one);
  };
  for (const [i, entry] of given.candidates.entries()) {
    const path = `${listPath}[${i}]`;
    const { label, grid, draws, draw, ...sets } = raw[i]!;
    const points = pointsOf(entry, grid as RawObject, given.seed, i);
    if (points.length < sizeOf(entry)) {
      const few = points.length === 1 ? "a single point" : `only ${points.length} different points`;
      const message = `${entry.draws} draws of ${few}; ask for no more than there are, or give a wider range`;
      const fewDraws = [fault(`${path}.draws`, message)];
      refuse(invalidRequest(fewDraws), fewDraws);
    }
    for (const point of points) {
      if (read >= MAX_FAULTS_READ) break;
      try {
        const { settings, warnings: own } = reader.resolve(sets, point, path);
        found.push({ settings, path, text: labelOf(entry, settings, point, reader) });
        for (const warning of own) warnings.set(warning.message, warning);
      } catch (error) {
        if (!(error instanceof MucastError)) throw error;
        refuse(error, placedFaults(error, path, grid === undefined ? "draw" : "grid", point, reader));
      }
    }
  }
  if (first !== undefined) {
    const { message, faults: listed } = listedFaults([...faults.values()]);
    throw new MucastError(first.code, message, { ...first.data, path: listed[0]!.path, faults: listed });
  }
  requireDifferent(found, reader.identity);
  const labels = found.map(({ text }) => text.slice(0, MAX_LABEL));
  const candidates = found.map(({ settings }, i) => {
    const label = labels[i]!;
    const isShared = labels.indexOf(label) !== labels.lastIndexOf(label);
    return { label: isShared ? `${label} (${i})` : label, settings };
  });
  return { choice: { ...given, candidates }, warnings: [...warnings.values()] };
}

const MAX_LABEL = 80;

function sizeOf({ grid, draws = 1 }: CandidateEntry): number {
  return Object.values(grid ?? {}).reduce((size, { length }) => size * length, draws);
}

/**
 * The points of an entry's grid or draws. Of a grid, every combination; the last parameter changes fastest.
 * @param raw the grid in the tree of `rawNumbers`; it may have a key `__proto__`, which the schema's copy lacks.
 */
function pointsOf(
  { grid, draws, draw }: CandidateEntry,
  raw: RawObject,
  seed: number,
  stream: number,
): SearchPoint[] {
  if (draw !== undefined) return [...drawnPoints(draws!, draw, seed, stream)];
  let points: (readonly (readonly [string, RawJson])[])[] = [[]];
  for (const name of Object.keys(grid ?? {})) {
    const values = raw[name] as readonly RawJson[];
    points = points.flatMap((point) => values.map((value) => [...point, [name, value] as const]));
  }
  return points.map((point) => new Map(point));
}

const MAX_NAMED = 4;

function labelOf<Settings, Entry extends CandidateEntry>(
  entry: Entry,
  settings: Settings,
  point: SearchPoint,
  { nameOf, valuesOf }: CandidateReader<Settings, Entry>,
): string {
  const { label, fit, target, scaler, cross_section } = entry;
  const named = (values: Iterable<readonly [string, unknown]>) =>
    [...values].map(
      ([name, value]) => `${name}=${printable(typeof value === "string" ? value : JSON.stringify(value))}`,
    );
  const values = Object.entries(valuesOf(entry, settings)).filter(([name]) => !point.has(name));
  const whole = [
    nameOf(settings),
    fit,
    target,
    scaler === "none" ? "unscaled" : scaler,
    cross_section === undefined ? undefined : cross_section ? "cross_section" : "no cross_section",
    ...named(values.slice(0, MAX_NAMED)),
  ];
  const parts = label === undefined ? whole.filter((part) => part !== undefined) : [label];
  return [...parts, ...named(point)].join(" ");
}

/** The faults of an entry, whose paths name the entry and its grid or draw in place of the section. */
function placedFaults<Settings, Entry>(
  { data, message }: MucastError,
  path: string,
  search: "grid" | "draw",
  point: SearchPoint,
  { section, searchedIn }: CandidateReader<Settings, Entry>,
): Fault[] {
  const faults = data.faults ?? [fault(data.path ?? path, message)];
  return faults.map((found) => {
    const at = found.path.startsWith(path) ? found.path : found.path.replace(section, path);
    const name = at.slice(`${path}.${searchedIn}.`.length);
    const isSearched = at === `${path}.${searchedIn}.${name}` && point.has(name);
    return { ...found, path: isSearched ? `${path}.${search}.${name}` : at };
  });
}

function requireDifferent<Settings>(
  all: readonly { readonly settings: Settings; readonly path: string; readonly text: string }[],
  identity: readonly (keyof Settings)[],
): void {
  const seen = new Map<string, number>();
  for (const [i, { settings, path, text }] of all.entries()) {
    const key = canonicalJson(identity.map((name) => settings[name]));
    const earlier = seen.get(key);
    if (earlier !== undefined) {
      const message = `${text} is the same as candidate ${earlier} (${all[earlier]!.path}); remove one of them`;
      throw invalidRequest([fault(path, message)]);
    }
    seen.set(key, i);
  }
}

/** A search of few different points is given up after this many draws of each point that it asks for. */
const MAX_DRAWS_PER_POINT = 100;

/** Draws of more than ten parameters are given up earlier: 32 KiB may name a thousand, and each value takes microseconds. */
const MAX_VALUES_PER_POINT = 1_000;

/**
 * Different random points: `draws` of them, parameter after parameter, or as many as there are. A repeated draw is drawn again.
 * @param stream number of the candidate in the caller's list, so that its draws do not depend on the others.
 */
export function* drawnPoints(
  draws: number,
  specs: Readonly<Record<string, DrawSpec>>,
  seed: number,
  stream: number,
): Generator<SearchPoint> {
  const next = splitMix64(seed, stream);
  const seen = new Set<string>();
  const named = Object.entries(specs);
  const perPoint = Math.max(2, Math.min(MAX_DRAWS_PER_POINT, MAX_VALUES_PER_POINT / named.length));
  for (let i = 0; i < perPoint * draws && seen.size < draws; i++) {
    const point = named.map(([name, spec]) => [name, valueAtUniform(spec, next())] as const);
    const text = JSON.stringify(point);
    if (!seen.has(text)) yield new Map(point);
    seen.add(text);
  }
}

/** Significant digits of a drawn number: enough to search with, and the same on every machine. */
const DIGITS = 4;

function valueAtUniform({ log, uniform, int }: DrawSpec, u: number): RawNumber {
  if (int !== undefined) {
    const [low, high] = int;
    return rawNumber(String(low + Math.min(high - low, Math.floor(u * (high - low + 1)))));
  }
  const [low, high] = log ?? uniform!;
  const between = (from: number, to: number) => from + u * (to - from);
  const value = log === undefined ? between(low, high) : Math.exp(between(Math.log(low), Math.log(high)));
  // Rounding may leave the range.
  const text = String(Math.min(high, Math.max(low, Number(value.toPrecision(DIGITS)))));
  // Python reads `1.0` as a float, and `1` not.
  return rawNumber(/[.e]/.test(text) ? text : `${text}.0`);
}

const MASK = (1n << 64n) - 1n;

/**
 * Uniform numbers in [0, 1) with 53 random bits (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
 * @param stream selects an independent sequence of the seed.
 */
function splitMix64(seed: number, stream: number): () => number {
  let state = mixBits(BigInt(seed)) ^ mixBits(BigInt(stream) + 1n);
  return () => {
    state = (state + 0x9e3779b97f4a7c15n) & MASK;
    return Number(mixBits(state) >> 11n) / 2 ** 53;
  };
}

function mixBits(value: bigint): bigint {
  let z = value & MASK;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return z ^ (z >> 31n);
}
