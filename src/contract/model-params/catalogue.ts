import { type RawJson, rawNumber } from "../json/json-text.ts";
import catalogue from "./catalogue.json" with { type: "json" };
import type { AcceptedType } from "./json-types.ts";
import type { ModelName } from "./models.ts";

/**
 * A parameter of a constructor in the locked libraries. `python -m mucast_engine.catalogue` makes catalogue.json from the libraries; a test
 * checks that it is up to date.
 */
export interface Parameter {
  /** The constructor's own name, or the native name of a parameter that is passed through `**kwargs`. */
  readonly name: string;
  readonly aliases: readonly string[];
  /** Absent if the type is not known before a fit. */
  readonly types?: readonly AcceptedType[];
  /** The strings that it accepts, if the library lists them. */
  readonly choices?: readonly string[];
  /** The library's default; a float without a fraction is `1.0`. Null if it has no JSON form or no single value. */
  readonly default: RawJson;
  /** Passed through `**kwargs`; not an argument of the constructor itself. */
  readonly native: boolean;
}

export interface ConstructorParameters {
  /** By the constructor's own name. */
  readonly byName: ReadonlyMap<string, Parameter>;
  /** By every name that the library knows, including aliases. */
  readonly byAnyName: ReadonlyMap<string, Parameter>;
}

/** The parameters of a model's constructor. */
export function parametersOf(model: ModelName): ConstructorParameters {
  let known = cache.get(model);
  if (known === undefined) {
    known = index(catalogue.models[model]);
    cache.set(model, known);
  }
  return known;
}

const cache = new Map<ModelName, ConstructorParameters>();

/** A parameter in catalogue.json, which omits empty fields. */
interface Entry extends Partial<Omit<Parameter, "name">> {
  /** Marks a default that is a float in Python and has no fraction. */
  readonly float?: boolean;
}

function defaultOf({ default: value, float }: Entry): RawJson {
  if (value === undefined) return null;
  return float ? rawNumber(`${value}.0`) : value;
}

function index(entries: object): ConstructorParameters {
  const byName = new Map<string, Parameter>();
  const byAnyName = new Map<string, Parameter>();
  for (const [name, entry] of Object.entries(entries) as [string, Entry][]) {
    const parameter = { aliases: [], native: false, ...entry, name, default: defaultOf(entry) };
    byName.set(name, parameter);
    for (const known of [name, ...parameter.aliases]) byAnyName.set(known, parameter);
  }
  return { byName, byAnyName };
}
