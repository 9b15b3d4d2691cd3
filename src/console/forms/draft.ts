import { MAX_JSON_DEPTH, type RawJson, rawNumbersOf, scanJson } from "../../contract/json/json-text.ts";
import {
  isObject,
  type Path,
  treeText,
  valueAt,
  withInvisibleEscaped,
  withoutEmpty,
  withValue,
} from "./payload-tree.ts";

/** The config of a payload is one level down. */
const MAX_PAYLOAD_DEPTH = MAX_JSON_DEPTH + 1;

/**
 * A payload while a form edits it. A member that no field has changed keeps its text byte for byte, since outputs record the digest of a
 * config's text.
 */
export interface Draft {
  /** The text that is shown and sent. */
  readonly text: string;
  /** The last text that was JSON, which the fields show. */
  readonly tree: RawJson;
  /** Why the text is not JSON that can be sent. */
  readonly fault: string | undefined;
  /** The members of the payload as they were written. */
  readonly written: ReadonlyMap<string, { readonly value: RawJson; readonly text: string }>;
}

const EMPTY: Draft = { text: "{}", tree: {}, fault: undefined, written: new Map() };

/** @param before what the fields show if the text is not JSON. */
export function readDraft(typed: string, before = EMPTY): Draft {
  const text = withInvisibleEscaped(typed);
  try {
    const texts = new Map<string, string>();
    const twice = scanJson(text, "payload", MAX_PAYLOAD_DEPTH, texts);
    if (twice.length > 0) throw new Error(twice.map(({ message }) => message).join("; "));
    const tree = rawNumbersOf(text) as RawJson;
    const members = isObject(tree) ? tree : {};
    const written = new Map(
      [...texts].map(([key, own]) => [key, { value: members[key]!, text: own }] as const),
    );
    return { text, tree, fault: undefined, written };
  } catch (error) {
    return { ...before, text, fault: error instanceof Error ? error.message : String(error) };
  }
}

interface Change {
  readonly path: Path;
  /** Undefined omits the member. */
  readonly value: RawJson | undefined;
  /** How the reader has written a member of the payload itself. */
  readonly json?: string | undefined;
}

/** The draft with another member. @param prunable paths of objects for which empty means the same as omitted. */
export function withMember(
  draft: Draft,
  { path, value, json }: Change,
  prunable: readonly Path[] = [],
): Draft {
  const written = new Map(draft.written);
  if (path.length === 1 && value !== undefined && json !== undefined)
    written.set(path[0]!, { value, text: withInvisibleEscaped(json.trim()) });
  const tree = withoutEmpty(withValue(draft.tree, path, value), prunable);
  return { tree, written, fault: undefined, text: print(tree, written) };
}

/** The draft with other members of the payload itself. @param written what the reader has written for them. */
export function withMembers(
  draft: Draft,
  members: Readonly<Record<string, RawJson | undefined>>,
  written?: Draft["written"],
): Draft {
  return Object.entries(members).reduce<Draft>(
    (into, [name, value]) => withMember(into, { path: [name], value, json: written?.get(name)?.text }),
    draft,
  );
}

export function draftValue(draft: Draft, path: Path): RawJson | undefined {
  return valueAt(draft.tree, path);
}

function print(tree: RawJson, texts: Draft["written"]): string {
  if (!isObject(tree)) return treeText(tree);
  const members = Object.entries(tree).map(([key, value]) => {
    const written = texts.get(key);
    const text = written?.value === value ? written.text : treeText(value).replaceAll("\n", "\n  ");
    return `  ${withInvisibleEscaped(JSON.stringify(key))}: ${text}`;
  });
  return members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n}`;
}
