import type { FormSchemas } from "../../contract/api/published-schemas.ts";
import { type Path, type RawJson, valueAt } from "./draft.ts";

/** The part of JSON Schema (draft 2020-12) that payloads use. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly enum?: readonly string[];
  /** Values that a form offers if the schema also accepts others. */
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
}

/** What the service says about forms, with schemas without references. */
export interface Forms extends Omit<FormSchemas, "payloads" | "prepare"> {
  readonly payloads: Readonly<Record<keyof FormSchemas["payloads"], JsonSchema>>;
  readonly prepare: JsonSchema;
}

export function readForms(json: string): Forms {
  const { payloads, prepare, ...more } = JSON.parse(json) as FormSchemas;
  const inlined = Object.entries(payloads).map(([name, schema]) => [name, withoutReferences(schema)]);
  return { ...more, payloads: Object.fromEntries(inlined), prepare: withoutReferences(prepare) };
}

function withoutReferences({ $ref, ...beside }: JsonSchema, definitions = beside.$defs ?? {}): JsonSchema {
  const target =
    $ref === undefined ? {} : withoutReferences(definitions[$ref.split("/").at(-1)!]!, definitions);
  const { properties, items, ...more } = { ...target, ...beside };
  return {
    ...more,
    ...(items && { items: withoutReferences(items, definitions) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, member]) => [name, withoutReferences(member, definitions)]),
      ),
    }),
  };
}

let fetched: Promise<Forms> | undefined;

/** Fetches them once. @throws TypeError if the service does not respond; the next call tries again. */
export function fetchForms(): Promise<Forms> {
  const answer = async () => {
    const response = await fetch(new URL("./forms.json", import.meta.url));
    if (!response.ok) throw new TypeError(`forms.json answered ${response.status}`);
    return readForms(await response.text());
  };
  fetched ??= answer().catch((error: unknown) => {
    fetched = undefined;
    throw error;
  });
  return fetched;
}

/** A member of an object, which has a place in a form. */
export interface Member {
  readonly path: Path;
  /** The last key of the path. */
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

/** The members of an object. Those that the schema marks as deprecated appear only in the JSON. */
export function membersOf({ properties = {}, required = [] }: JsonSchema, path: Path = []): Member[] {
  return Object.entries(properties).flatMap(([name, schema]) =>
    schema.deprecated ? [] : [{ path: [...path, name], name, schema, isRequired: required.includes(name) }],
  );
}

/** The schema of what is at a path; undefined if the schema does not name it. */
export function schemaAt(schema: JsonSchema, path: Path): JsonSchema | undefined {
  return path.reduce<JsonSchema | undefined>((at, key) => {
    if (typeof key === "number") return at?.items;
    return at?.properties && Object.hasOwn(at.properties, key) ? at.properties[key] : undefined;
  }, schema);
}

export type Kind = ReturnType<typeof kindOf>;

/**
 * The control that a value needs. `group`: an object with fields of its own. `entries`: a list of such objects. `choice`: one of a list.
 * `checks`: some of a list. `flag`: true or false. `numbers` and `names`: lists. `json`: any other object.
 */
export function kindOf({ type, format, properties = {}, items, ...schema }: JsonSchema) {
  if (schema.enum !== undefined || schema.examples !== undefined) return "choice";
  switch (type) {
    case "boolean":
      return "flag";
    case "number":
    case "integer":
      return type;
    case "array":
      if (items?.enum !== undefined) return "checks";
      if (items?.properties !== undefined) return "entries";
      return items?.type === "string" ? "names" : "numbers";
    case "object":
      return Object.keys(properties).length > 0 ? "group" : "json";
    default:
      return format === "date" ? "date" : "text";
  }
}

/** Whether a path is that of the sizes of one network, which count only if the config chooses the network. */
export function isNetworkSize(path: Path): boolean {
  return path.at(-2) === "models_params";
}

export function isApplicable({ path, name }: Member, tree: RawJson): boolean {
  return !isNetworkSize(path) || valueAt(tree, [...path.slice(0, -2), "current option"]) === name;
}

/** Whether the presence of a group means something, so that the reader chooses it. */
export function isOptional({ path, schema, isRequired }: Member): boolean {
  return !isRequired && schema.default === undefined && !isNetworkSize(path);
}

/** Whether leaving out what is at a path means the same as an empty object there. */
export function isSpare(schema: JsonSchema, path: Path): boolean {
  return isNetworkSize(path) || schemaAt(schema, path)?.default !== undefined;
}
