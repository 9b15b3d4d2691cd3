/** Where in a document a value is; each step is there while what it leads to is checked. */
type Path = (string | number)[];

/** Gives a value back as what it is. @throws TypeError with its path and the value where it is something else. */
export type Check<T> = (value: unknown, path: Path) => T;

export const anything: Check<unknown> = (value, path) =>
  value === undefined ? throwUnexpected(value, path, "there") : value;

export const text: Check<string> = (value, path) =>
  typeof value === "string" ? value : throwUnexpected(value, path, "text");

export const number: Check<number> = (value, path) =>
  typeof value === "number" && Number.isFinite(value)
    ? value
    : throwUnexpected(value, path, "a finite number");

export const flag: Check<boolean> = (value, path) =>
  typeof value === "boolean" ? value : throwUnexpected(value, path, "true or false");

export const count: Check<number> = (value, path) =>
  Number.isSafeInteger(value) && (value as number) >= 0
    ? (value as number)
    : throwUnexpected(value, path, "an integer of at least 0");

export const positive: Check<number> = (value, path) =>
  count(value, path) > 0 ? (value as number) : throwUnexpected(value, path, "an integer of at least 1");

/** @param what in words. */
export function matching(pattern: RegExp, what: string): Check<string> {
  return (value, path) =>
    pattern.test(text(value, path)) ? (value as string) : throwUnexpected(value, path, what);
}

export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, path) => (value === null ? null : check(value, path));
}

/** Of a member that may be missing. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, path) => (value === undefined ? undefined : check(value, path));
}

/** Of a closed list; a name of `T` that `names` lack does not compile. */
export function oneOf<T extends string>(names: Readonly<Record<T, true>>): Check<T> {
  return (value, path) =>
    typeof value === "string" && Object.hasOwn(names, value)
      ? (value as T)
      : throwUnexpected(value, path, Object.keys(names).join(" or "));
}

/** A name of a list to which a later version may add; its type is that of the names that this version knows. */
export function name<T extends string>(): Check<T> {
  return text as Check<T>;
}

export function listOf<T>(check: Check<T>): Check<T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) return throwUnexpected(value, path, "a list");
    const place = path.push(0) - 1;
    for (let index = 0; index < value.length; index++) {
      path[place] = index;
      check(value[index], path);
    }
    path.pop();
    return value;
  };
}

export function recordOf<T>(check: Check<T>): Check<Record<string, T>> {
  return (value, path) => {
    const found = membersOf(value, path);
    for (const [name, item] of Object.entries(found)) step(item, path, name, check);
    return found as Record<string, T>;
  };
}

/** An object with these members. Further members are kept: a later service may add some. */
export function object<T extends object>(members: { readonly [K in keyof T]-?: Check<T[K]> }): Check<T> {
  const checks: [string, Check<unknown>][] = Object.entries(members);
  return (value, path) => {
    const found = membersOf(value, path);
    for (const [name, check] of checks)
      step(Object.hasOwn(found, name) ? found[name] : undefined, path, name, check);
    return found as T;
  };
}

function membersOf(value: unknown, path: Path): Record<string, unknown> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : throwUnexpected(value, path, "an object");
}

function step(value: unknown, path: Path, name: string | number, check: Check<unknown>): void {
  path.push(name);
  check(value, path);
  path.pop();
}

const MAX_SHOWN_LENGTH = 80;

function throwUnexpected(value: unknown, path: Path, expected: string): never {
  const where = path.length === 0 ? "it" : path.join(".");
  const got = value === undefined ? "nothing" : JSON.stringify(value).slice(0, MAX_SHOWN_LENGTH);
  throw new TypeError(`${where} must be ${expected}, got ${got}`);
}
