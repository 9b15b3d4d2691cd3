import { isRawNumber, type RawJson, rawNumber } from "../json/json-text.ts";
import catalogue from "./catalogue.json" with { type: "json" };
import type { ModelName } from "./models.ts";

/** A parameter of a constructor in the locked libraries. `python -m mucast_engine.catalogue` makes catalogue.json from them. */
export interface Parameter {
  /** The constructor's own name, or the native name of a parameter that is passed through `**kwargs`. */
  readonly name: string;
  readonly aliases: readonly string[];
  /** Absent if the type is not known before a fit. */
  readonly types?: readonly AcceptedType[];
  readonly choices?: readonly string[];
  /** The library's default; a float without a fraction is `1.0`. Null if it has no JSON form or no single value. */
  readonly default: RawJson;
  /** Passed through `**kwargs`; not an argument of the constructor itself. */
  readonly native: boolean;
}

export interface ConstructorParameters {
  readonly byName: ReadonlyMap<string, Parameter>;
  /** By every name that the library knows, including aliases. */
  readonly byAnyName: ReadonlyMap<string, Parameter>;
}

/** A parameter in catalogue.json, which omits empty fields. `float` marks a default that is a float in Python and has no fraction. */
type Entry = Partial<Omit<Parameter, "name">> & { readonly float?: boolean };

const cache = new Map<ModelName, ConstructorParameters>();

export function parametersOf(model: ModelName): ConstructorParameters {
  const known = cache.get(model);
  if (known !== undefined) return known;
  const byName = new Map<string, Parameter>();
  const byAnyName = new Map<string, Parameter>();
  for (const [name, entry] of Object.entries(catalogue.models[model]) as [string, Entry][]) {
    const { default: value = null, float, ...rest } = entry;
    const byDefault = float ? rawNumber(`${value}.0`) : value;
    const parameter = { aliases: [], native: false, ...rest, name, default: byDefault };
    byName.set(name, parameter);
    for (const known of [name, ...parameter.aliases]) byAnyName.set(known, parameter);
  }
  cache.set(model, { byName, byAnyName });
  return { byName, byAnyName };
}

/** The types of JSON values as Python reads their texts (`1` is an int, `1.0` and `1e3` are floats), and two cases that libraries accept. */
const WORDS = {
  null: "null",
  bool: "true or false",
  int: "an integer",
  float: "a number",
  string: "a string",
  list: "a list",
  object: "an object",
  /** A float without a fraction, such as `6.0`, if an integer is meant. */
  whole: "",
  /** A string that holds a number. */
  number_text: "",
};

export type AcceptedType = keyof typeof WORDS;

const NUMBER_TEXT = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** @param raw a value of a `rawNumbers` tree. */
export function jsonType(raw: unknown): AcceptedType {
  if (raw === null) return "null";
  if (isRawNumber(raw)) return /^-?\d+$/.test(raw.rawJSON) ? "int" : "float";
  if (Array.isArray(raw)) return "list";
  if (typeof raw === "boolean") return "bool";
  return typeof raw === "string" ? "string" : "object";
}

/** Whether a parameter with these types accepts this value of a `rawNumbers` tree. */
export function hasType(raw: unknown, accepted: readonly AcceptedType[]): boolean {
  if (accepted.includes(jsonType(raw))) return true;
  if (accepted.includes("number_text") && typeof raw === "string") return NUMBER_TEXT.test(raw);
  return accepted.includes("whole") && isRawNumber(raw) && Number.isInteger(Number(raw.rawJSON));
}

/** Every string inside a value of a `rawNumbers` tree, keys included. */
export function stringsOf(raw: unknown): string[] {
  if (typeof raw === "string") return [raw];
  if (jsonType(raw) === "list") return (raw as unknown[]).flatMap(stringsOf);
  if (jsonType(raw) !== "object") return [];
  return Object.entries(raw as object).flatMap(([key, value]) => [key, ...stringsOf(value)]);
}

/** The accepted types as text for a message, without those that Python accepts only leniently. */
export function typesText(accepted: readonly AcceptedType[]): string {
  const isLenient = (type: AcceptedType) =>
    (type === "int" && accepted.includes("float")) || (type === "bool" && accepted.includes("int"));
  const words = accepted.filter((type) => !isLenient(type)).map((type) => WORDS[type]);
  return words.filter((word) => word !== "").join(" or ");
}
