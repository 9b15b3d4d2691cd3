import { isRawNumber, type RawJson, type RawObject, rawNumbers } from "../../contract/json/json-text.ts";

/** Keys from the payload down to a member. */
export type Path = readonly string[];

/** Maximum characters of a payload's text: more than a config of 32 KiB with every option of an audit needs. */
export const MAX_PAYLOAD_LENGTH = 96 * 1_024;

/**
 * Parses a payload's text into a tree whose numbers keep their spelling.
 * @throws MucastError whose message names line and column, or the duplicate key.
 */
export function readTree(text: string, root: string): RawJson {
  return rawNumbers(text, root) as RawJson;
}

/** The text that a form shows and sends, with an indentation of two spaces; numbers keep their spelling. */
export function treeText(tree: RawJson): string {
  return withInvisibleEscaped(JSON.stringify(tree, null, 2));
}

export function isObject(value: RawJson | undefined): value is RawObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** The value at a path; undefined if there is none. */
export function valueAt(tree: RawJson | undefined, path: Path): RawJson | undefined {
  return path.reduce<RawJson | undefined>(
    (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    tree,
  );
}

/** The tree with another value at a path, with new objects on the way if needed; undefined removes the member. */
export function withValue(tree: RawJson | undefined, path: Path, value: RawJson | undefined): RawJson {
  const [key, ...rest] = path;
  if (key === undefined) return value ?? {};
  const members = new Map(isObject(tree) ? Object.entries(tree) : []);
  if (rest.length === 0 && value === undefined) members.delete(key);
  else if (rest.length === 0) members.set(key, value as RawJson);
  else if (value !== undefined || isObject(members.get(key))) {
    members.set(key, withValue(members.get(key), rest, value));
  }
  return Object.fromEntries(members);
}

/** The tree without empty objects at these paths, where an empty object means the same as none. */
export function withoutEmpty(tree: RawJson, paths: readonly Path[]): RawJson {
  // The deepest first, so that a section is removed after its last entry.
  const deepestFirst = [...paths].sort((a, b) => b.length - a.length);
  return deepestFirst.reduce((left, path) => {
    const value = valueAt(left, path);
    return isObject(value) && Object.keys(value).length === 0 ? withValue(left, path, undefined) : left;
  }, tree);
}

const INVISIBLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * The same JSON with every invisible or reordering character as an escape, so that what is shown and copied is what is sent. White
 * space between tokens stays.
 */
export function withInvisibleEscaped(json: string): string {
  return json.replaceAll(INVISIBLE, (mark) => (/[\n\r\t]/.test(mark) ? mark : escaped(mark)));
}

function escaped(mark: string): string {
  return mark
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
