/** The part of JSON Schema that `output-schema.ts` uses. An object may have additional members. */
export interface Schema {
  /** `#/$defs/` and a name. */
  readonly $ref?: string;
  readonly const?: string;
  readonly enum?: readonly string[];
  /** Another schema, and `null`. */
  readonly anyOf?: readonly Schema[];
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

/** The path of a value in a document; a step is removed once the value that it leads to is checked. */
type Path = (string | number)[];

/** @throws TypeError with the path and the value if it does not have the checked shape. */
type Check = (value: unknown, path: Path) => void;

/**
 * Creates a check for one of the schemas; none of them is recursive. It takes a quarter of zod's time.
 * @returns a function that throws TypeError with the path and the value if a value does not match the schema.
 */
export function checkOf(name: string, schemas: Readonly<Record<string, Schema>>): (value: unknown) => void {
  const made = new Map<string, Check>();
  const named = (name: string): Check => {
    const check = made.get(name) ?? make(schemas[name]!);
    made.set(name, check);
    return check;
  };
  const make = (schema: Schema): Check => {
    const { $ref, anyOf, type, items, properties, required = [], additionalProperties } = schema;
    if ($ref !== undefined) return named($ref.replace("#/$defs/", ""));
    if (anyOf !== undefined) return nullable(make(anyOf[0]!));
    if (typeof type === "object") return nullable(make({ ...schema, type: type[0]! }));
    if (type === "array") return listOf(make(items!));
    if (type !== "object") return scalarCheck(schema);
    if (properties === undefined) return recordOf(make(additionalProperties!));
    return object(
      Object.entries(properties).map(([name, member]) => {
        const check = make(member);
        return [name, required.includes(name) ? check : optional(check)];
      }),
    );
  };
  const check = named(name);
  return (value) => check(value, []);
}

function scalarCheck({ type, const: only, enum: names, pattern, format, exclusiveMinimum }: Schema): Check {
  if (only !== undefined) return oneOf([only]);
  if (names !== undefined) return oneOf(names);
  if (pattern !== undefined) return matching(new RegExp(pattern), format);
  if (type === "string") return passing((value) => typeof value === "string", "text");
  if (type === "boolean") return passing((value) => typeof value === "boolean", "true or false");
  if (type === "number") return passing((value) => Number.isFinite(value), "a finite number");
  if (type === undefined) return passing((value) => value !== undefined, "there");
  const least = exclusiveMinimum === undefined ? 0 : exclusiveMinimum + 1;
  const isInteger = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= least;
  return passing(isInteger, `an integer of at least ${least}`);
}

function passing(test: (value: unknown) => boolean, expected: string): Check {
  return (value, path) => {
    if (!test(value)) throw unexpected(value, path, expected);
  };
}

function oneOf(names: readonly unknown[]): Check {
  return passing((value) => names.includes(value), names.join(" or "));
}

/** Patterns in words. */
const WORDS: Readonly<Record<string, string>> = {
  "^\\d{4}-\\d{2}-\\d{2}$": "a date as YYYY-MM-DD",
  "^[0-9a-f]{64}$": "a SHA-256 in hexadecimal",
};

function matching(pattern: RegExp, format: string | undefined): Check {
  const words =
    WORDS[pattern.source] ?? (format === "date-time" ? "a moment in UTC" : `text like ${pattern}`);
  return (value, path) => {
    if (typeof value !== "string") throw unexpected(value, path, "text");
    if (!pattern.test(value)) throw unexpected(value, path, words);
  };
}

function nullable(check: Check): Check {
  return (value, path) => {
    if (value !== null) check(value, path);
  };
}

function optional(check: Check): Check {
  return (value, path) => {
    if (value !== undefined) check(value, path);
  };
}

function listOf(check: Check): Check {
  return (value, path) => {
    if (!Array.isArray(value)) throw unexpected(value, path, "a list");
    const place = path.push(0) - 1;
    for (let index = 0; index < value.length; index++) {
      path[place] = index;
      check(value[index], path);
    }
    path.pop();
  };
}

function recordOf(check: Check): Check {
  return (value, path) => {
    for (const [name, item] of Object.entries(membersOf(value, path))) step(item, path, name, check);
  };
}

function object(members: readonly (readonly [string, Check])[]): Check {
  return (value, path) => {
    const found = membersOf(value, path);
    for (const [name, check] of members)
      step(Object.hasOwn(found, name) ? found[name] : undefined, path, name, check);
  };
}

function membersOf(value: unknown, path: Path): Record<string, unknown> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject) throw unexpected(value, path, "an object");
  return value as Record<string, unknown>;
}

function step(value: unknown, path: Path, name: string, check: Check): void {
  path.push(name);
  check(value, path);
  path.pop();
}

const MAX_SHOWN_LENGTH = 80;

function unexpected(value: unknown, path: Path, expected: string): TypeError {
  const where = path.length === 0 ? "it" : path.join(".");
  const got = value === undefined ? "nothing" : JSON.stringify(value).slice(0, MAX_SHOWN_LENGTH);
  return new TypeError(`${where} must be ${expected}, got ${got}`);
}
