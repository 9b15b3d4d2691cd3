import { isRawNumber, type RawJson, type RawObject } from "../../contract/json/json-text.ts";
import { countedRows } from "../../view/figures.ts";
import { isObject, readTree } from "./payload-tree.ts";

/**
 * Reads values by parameter from text with one parameter a line, such as `alpha = 0.1, 1, 10`. Values are JSON; what is not is a text.
 * @throws Error that says which line is wrong.
 */
export function readGrid(text: string): RawObject {
  const grid = new Map<string, readonly RawJson[]>();
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (line === "") continue;
    const at = line.indexOf("=");
    const name = line.slice(0, Math.max(0, at)).trim();
    const values = at < 0 ? [] : readValues(line.slice(at + 1));
    if (name === "" || values.length === 0) throw new Error(`Write "${line}" as: name = value, value.`);
    if (grid.has(name)) throw new Error(`${name} has two lines; write its values in one.`);
    grid.set(name, values);
  }
  return Object.fromEntries(grid);
}

function readValues(text: string): readonly RawJson[] {
  if (text.trim() === "") return [];
  const values = jsonOf(`[${text}]`);
  if (Array.isArray(values)) return values;
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => jsonOf(part) ?? part);
}

function jsonOf(text: string): RawJson | undefined {
  try {
    return readTree(text, "values");
  } catch {
    return undefined;
  }
}

/** The number of candidates of an entry: the combinations of its grid, its draws, or one. */
export function entrySize(entry: RawJson): number {
  if (!isObject(entry)) return 1;
  const { grid, draws } = entry;
  if (isObject(grid)) {
    return Object.values(grid).reduce<number>(
      (size, values) => size * (Array.isArray(values) ? values.length : 1),
      1,
    );
  }
  return numberOf(draws) ?? 1;
}

/** The number that a form has at a member; undefined if it is none. */
export function numberOf(value: RawJson | undefined): number | undefined {
  const number = isRawNumber(value) ? Number(value.rawJSON) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** Members of an entry that are named by their value alone. */
const NAMED = ["model", "current option", "fit", "target", "scaler"] as const;

/** Members of an entry whose own members are settings. */
const SECTIONS = ["model_params", "training_params", "data_processing"] as const;

/** An entry in words. */
export function entryWords(entry: RawJson): string {
  if (!isObject(entry)) return JSON.stringify(entry);
  const named = NAMED.flatMap((name) => (typeof entry[name] === "string" ? [entry[name]] : []));
  const { label, grid, draws, draw, models_params: sizes } = entry;
  const sections = SECTIONS.map((name) => entry[name]);
  const ofNetworks = isObject(sizes) ? Object.values(sizes) : [];
  const parts = [
    ...(typeof label === "string" ? [`${label}:`] : []),
    ...(entry.model === undefined && entry["current option"] === undefined ? ["as in this config, but"] : []),
    ...named,
    ...[...sections, ...ofNetworks].flatMap((section) => (isObject(section) ? [assigned(section)] : [])),
    ...(isObject(grid) ? [assigned(grid)] : []),
    ...(isObject(draw) ? [`${numberOf(draws) ?? "?"} draws of ${Object.keys(draw).join(", ")}`] : []),
  ];
  return parts.join(" ");
}

function assigned(values: RawObject): string {
  return Object.entries(values)
    .map(
      ([name, value]) =>
        `${name} = ${Array.isArray(value) ? value.map(valueWords).join(", ") : valueWords(value)}`,
    )
    .join("; ");
}

function valueWords(value: RawJson): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** How many candidates and fits a choice has. */
export interface ChoiceSize {
  /** With the config itself. */
  readonly candidates: number;
  /** Undefined if candidates have no folds. */
  readonly fitsPerTicker: number | undefined;
}

/** @param folds the number of published and warm-up folds; undefined if candidates have none. */
export function choiceSize(entries: readonly RawJson[], folds: number | undefined): ChoiceSize {
  const candidates = entries.reduce<number>((sum, entry) => sum + entrySize(entry), 1);
  return { candidates, fitsPerTicker: folds === undefined ? undefined : candidates * (folds + 1) };
}

export function sizeWords({ candidates, fitsPerTicker }: ChoiceSize): string {
  const fits = fitsPerTicker === undefined ? "" : `, ${countedRows(fitsPerTicker, "fit")} per ticker`;
  return `${countedRows(candidates, "candidate")} with the config itself${fits}.`;
}
