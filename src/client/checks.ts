/** The part of JSON Schema that `output-schema.ts` uses. An object may have additional members. */
export interface Schema {
  /** `#/$defs/` and a name. */
  readonly $ref?: string;
  readonly const?: string;
  readonly enum?: readonly string[];
  /** Another schema, and `null`. */
  readonly anyOf?: readonly Schema[];
  /** A type, or a list of it and `null`. */
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly exclusiveMinimum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** The schema of each member that `properties` does not name. */
  readonly additionalProperties?: Schema;
}

/**
 * Checks a parsed document against one of the schemas.
 * @param path of the value in the document; a step is removed once the value that it leads to is checked.
 * @throws TypeError with the path and the value if it does not match.
 */
export function checkValue(
  value: unknown,
  schema: Schema,
  schemas: Readonly<Record<string, Schema>>,
  path: (string | number)[] = [],
): void {
  const { $ref, anyOf, type, items, properties, required = [], additionalProperties } = schema;
  const isNullable = anyOf !== undefined || typeof type === "object";
  if (isNullable && value === null) return;
  const inner = $ref === undefined ? anyOf?.[0] : schemas[$ref.replace("#/$defs/", "")];
  if (inner !== undefined) {
    checkValue(value, inner, schemas, path);
    return;
  }
  const checkMember = (name: string | number, member: unknown, its: Schema) => {
    path.push(name);
    checkValue(member, its, schemas, path);
    path.pop();
  };
  const kind = typeof type === "object" ? type[0] : type;
  const refuse = (expected: string) => {
    const where = path.length === 0 ? "it" : path.join(".");
    const got = value === undefined ? "nothing" : JSON.stringify(value).slice(0, MAX_SHOWN_LENGTH);
    throw new TypeError(`${where} must be ${expected}, got ${got}`);
  };
  if (kind === "array") {
    if (!Array.isArray(value)) refuse("a list");
    for (const [i, item] of (value as unknown[]).entries()) checkMember(i, item, items!);
  } else if (kind === "object") {
    if (typeof value !== "object" || value === null || Array.isArray(value)) refuse("an object");
    const members = value as Record<string, unknown>;
    for (const [name, its] of Object.entries(properties ?? {})) {
      const member = Object.hasOwn(members, name) ? members[name] : undefined;
      if (member !== undefined || required.includes(name)) checkMember(name, member, its);
    }
    for (const name of properties === undefined ? Object.keys(members) : [])
      checkMember(name, members[name], additionalProperties!);
  } else {
    const expected = expectedScalar(value, kind, schema);
    if (expected !== undefined) refuse(expected);
  }
}

const MAX_SHOWN_LENGTH = 80;

/** Patterns in words. */
const WORDS: Readonly<Record<string, string>> = {
  "^\\d{4}-\\d{2}-\\d{2}$": "a date as YYYY-MM-DD",
  "^[0-9a-f]{64}$": "a SHA-256 in hexadecimal",
};

const patterns = new Map<string, RegExp>();

/** What the value must be; undefined if it is. */
function expectedScalar(value: unknown, kind: string | undefined, schema: Schema): string | undefined {
  const { const: only, enum: names = only === undefined ? undefined : [only], pattern, format } = schema;
  if (names !== undefined) return names.includes(value as string) ? undefined : names.join(" or ");
  if (pattern !== undefined && typeof value === "string") {
    const expression = patterns.get(pattern) ?? new RegExp(pattern);
    patterns.set(pattern, expression);
    if (expression.test(value)) return undefined;
    return WORDS[pattern] ?? (format === "date-time" ? "a moment in UTC" : `text like ${expression}`);
  }
  const least = schema.exclusiveMinimum === undefined ? 0 : schema.exclusiveMinimum + 1;
  switch (kind) {
    case "string":
      return typeof value === "string" ? undefined : "text";
    case "boolean":
      return typeof value === "boolean" ? undefined : "true or false";
    case "number":
      return Number.isFinite(value) ? undefined : "a finite number";
    case "integer":
      return Number.isSafeInteger(value) && (value as number) >= least
        ? undefined
        : `an integer of at least ${least}`;
    default:
      return value === undefined ? "there" : undefined;
  }
}
