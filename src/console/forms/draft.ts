import {
  isRawNumber,
  MAX_JSON_DEPTH,
  type RawJson,
  type RawObject,
  rawNumbers,
  rawNumbersOf,
  scanJson,
} from "../../contract/json/json-text.ts";

export type { RawJson };

/** Keys and indexes from the payload down to a value. */
export type Path = readonly (string | number)[];

/** The config of a payload is one level down. */
const MAX_PAYLOAD_DEPTH = MAX_JSON_DEPTH + 1;

/** A payload while a form edits it. */
export interface Draft {
  /** The text that is shown and sent. */
  readonly text: string;
  /** The last text that was JSON, which the fields show; numbers keep their spelling. */
  readonly tree: RawJson;
  /** Why the text is not JSON that can be sent. */
  readonly fault: string | undefined;
  /** The text of each member of the payload, byte for byte: outputs record the digest of a config's text. */
  readonly members: ReadonlyMap<string, string>;
}

const EMPTY: Draft = { text: "{}", tree: {}, fault: undefined, members: new Map() };

/** @param before what the fields show if the text is not JSON. */
export function readDraft(typed: string, before = EMPTY): Draft {
  const text = withInvisibleEscaped(typed);
  try {
    const members = new Map<string, string>();
    const twice = scanJson(text, "payload", MAX_PAYLOAD_DEPTH, members);
    if (twice.length > 0) throw new Error(twice.map(({ message }) => message).join("; "));
    return { text, tree: rawNumbersOf(text) as RawJson, fault: undefined, members };
  } catch (error) {
    return { ...before, text, fault: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * The draft with another value at a path; undefined leaves it out.
 * @param json how the reader has written a member of the payload itself. @param isSpare whether an empty object at a path means nothing.
 */
export function withValue(
  draft: Draft,
  path: Path,
  value: RawJson | undefined,
  { json, isSpare = () => false }: { json?: string | undefined; isSpare?(path: Path): boolean } = {},
): Draft {
  let tree = treeWith(draft.tree, path, value);
  for (
    let at = path.slice(0, -1);
    value === undefined && isEmptyAt(tree, at) && isSpare(at);
    at = at.slice(0, -1)
  )
    tree = treeWith(tree, at, undefined);
  const name = String(path[0]);
  const changed = valueAt(tree, [name]);
  const members = new Map(draft.members);
  if (changed === undefined) members.delete(name);
  else
    members.set(
      name,
      path.length === 1 && json !== undefined ? json.trim() : treeText(changed).replaceAll("\n", "\n  "),
    );
  const lines = [...members].map(([key, text]) => `  ${JSON.stringify(key)}: ${text}`);
  return readDraft(lines.length === 0 ? "{}" : `{\n${lines.join(",\n")}\n}`, draft);
}

function isEmptyAt(tree: RawJson, path: Path): boolean {
  const value = valueAt(tree, path);
  return path.length > 0 && isObject(value) && Object.keys(value).length === 0;
}

export function isObject(value: RawJson | undefined): value is RawObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** The value at a path; undefined if there is none. */
export function valueAt(tree: RawJson | undefined, path: Path): RawJson | undefined {
  return path.reduce<RawJson | undefined>((value, key) => {
    const isList = Array.isArray(value) && typeof key === "number";
    return (isList || isObject(value)) && Object.hasOwn(value, key) ? (value as RawObject)[key] : undefined;
  }, tree);
}

/** The tree with another value at a path, with new objects on the way; undefined removes the member or the entry. */
export function treeWith(tree: RawJson | undefined, path: Path, value: RawJson | undefined): RawJson {
  const [key, ...rest] = path;
  if (key === undefined || (value === undefined && valueAt(tree, path) === undefined))
    return value ?? tree ?? {};
  const inner = rest.length === 0 ? value : treeWith(valueAt(tree, [key]), rest, value);
  if (typeof key === "number") {
    const entries: readonly RawJson[] = Array.isArray(tree) ? tree : [];
    return entries.toSpliced(key, 1, ...(inner === undefined ? [] : [inner]));
  }
  const members = new Map(isObject(tree) ? Object.entries(tree) : []);
  if (inner === undefined) members.delete(String(key));
  else members.set(String(key), inner);
  return Object.fromEntries(members);
}

/** Parses a text into a tree whose numbers keep their spelling. @throws MucastError whose message names line and column. */
export function readTree(text: string, root: string): RawJson {
  return rawNumbers(text, root) as RawJson;
}

/** The text that a form shows and sends, with an indentation of two spaces; numbers keep their spelling. */
export function treeText(tree: RawJson): string {
  return withInvisibleEscaped(JSON.stringify(tree, null, 2));
}

const INVISIBLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/gu;

/** JSON with every invisible or reordering character as an escape, so that what is shown and copied is what is sent. */
export function withInvisibleEscaped(json: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.replaceAll(INVISIBLE, (mark) =>
    /[\n\r\t]/.test(mark) ? mark : mark.split("").map(escaped).join(""),
  );
}
