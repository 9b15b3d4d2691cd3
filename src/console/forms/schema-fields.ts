import type { JsonSchema } from "./form-schemas.ts";
import type { Path } from "./payload-tree.ts";

/** What every part of a form has. */
interface Part {
  readonly path: Path;
  /** The last key of the path. */
  readonly name: string;
  /** From the schema; may be empty. */
  readonly description: string;
  readonly isRequired: boolean;
  /** It applies only if another member has this value. */
  readonly onlyWith?: { readonly path: Path; readonly value: string };
}

/** One control of a form. */
export interface Field extends Part {
  readonly kind: FieldKind;
  /** JSON of the default; undefined without a default. */
  readonly byDefault: string | undefined;
  /** For `choice` and `checks`, all possible values. */
  readonly choices: readonly string[];
  /** The schema with the bounds of its numbers: for a list, that of its entries. */
  readonly bounds: JsonSchema;
}

/**
 * `choice`: one of a list. `flag`: true or false. `number` and `integer`. `text`. `numbers`: a list of numbers. `checks`: some of a
 * list. `names`: a list of strings. `json`: any object. `date`: a text.
 */
export type FieldKind =
  | "choice"
  | "flag"
  | "number"
  | "integer"
  | "text"
  | "numbers"
  | "checks"
  | "names"
  | "json"
  | "date";

/** An object whose members have fields of their own. */
export interface Group extends Part {
  readonly kind: "group";
  /** `always`: omitting it means the same as an empty object. `chosen`: its presence means something. */
  readonly presence: "always" | "chosen";
  readonly parts: readonly FormPart[];
}

export type FormPart = Field | Group;

/** Objects whose entries apply depending on the value of another member. */
const ENTRIES: readonly { readonly of: Path; readonly chosenBy: Path }[] = [
  {
    of: ["config", "NN params", "Dot prediction", "models_params"],
    chosenBy: ["config", "NN params", "Dot prediction", "current option"],
  },
];

/** The parts of a form for an object of this schema. Members that the schema marks as deprecated appear only in the raw JSON. */
export function formParts(schema: JsonSchema): readonly FormPart[] {
  const whole = resolved(schema, schema.$defs ?? {});
  return membersOf(whole, [], schema.$defs ?? {});
}

type Definitions = Readonly<Record<string, JsonSchema>>;

function membersOf(schema: JsonSchema, path: Path, definitions: Definitions): FormPart[] {
  const chosenBy = ENTRIES.find(({ of }) => of.join("\0") === path.join("\0"))?.chosenBy;
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const found = resolved(member, definitions);
    if (found.deprecated) return [];
    const part = {
      path: [...path, name],
      name,
      description: found.description ?? "",
      isRequired: schema.required?.includes(name) ?? false,
      ...(chosenBy === undefined ? {} : { onlyWith: { path: chosenBy, value: name } }),
    };
    const isGroup = found.type === "object" && Object.keys(found.properties ?? {}).length > 0;
    return [isGroup ? groupOf(found, part, definitions) : fieldOf(found, part)];
  });
}

/** The schema that a reference names, merged under the members beside the reference. */
function resolved(schema: JsonSchema, definitions: Definitions): JsonSchema {
  const target = schema.$ref === undefined ? undefined : definitions[schema.$ref.split("/").at(-1)!];
  if (target === undefined) return schema;
  const { $ref: _followed, ...beside } = schema;
  return { ...resolved(target, definitions), ...beside };
}

function groupOf(schema: JsonSchema, part: Part, definitions: Definitions): Group {
  const meansNothingEmpty = part.isRequired || schema.default !== undefined || part.onlyWith !== undefined;
  return {
    ...part,
    kind: "group",
    presence: meansNothingEmpty ? "always" : "chosen",
    parts: membersOf(schema, part.path, definitions),
  };
}

function fieldOf(schema: JsonSchema, part: Part): Field {
  return {
    ...part,
    kind: kindOf(schema),
    byDefault: schema.default === undefined ? undefined : JSON.stringify(schema.default),
    choices: (schema.enum ?? schema.examples ?? schema.items?.enum ?? []).map(String),
    bounds: schema.items ?? schema,
  };
}

function kindOf(schema: JsonSchema): FieldKind {
  if (schema.enum !== undefined || schema.examples !== undefined) return "choice";
  switch (schema.type) {
    case "boolean":
      return "flag";
    case "number":
    case "integer":
      return schema.type;
    case "array":
      if (schema.items?.enum !== undefined) return "checks";
      if (schema.items?.$ref !== undefined) return "json";
      return schema.items?.type === "string" ? "names" : "numbers";
    case "object":
      return "json";
    default:
      return schema.format === "date" ? "date" : "text";
  }
}

/** Every field, and every group, in the order of the form. */
export function allParts(parts: readonly FormPart[]): readonly FormPart[] {
  return parts.flatMap((part) => (part.kind === "group" ? [part, ...allParts(part.parts)] : [part]));
}

/** The paths of groups for which empty means the same as omitted. */
export function prunable(parts: readonly FormPart[]): readonly Path[] {
  return allParts(parts).flatMap((part) =>
    part.kind === "group" && part.presence === "always" && !part.isRequired ? [part.path] : [],
  );
}
