import type { VNode } from "preact";
import type { OperationView } from "../../client/index.ts";
import { isRawNumber } from "../../contract/json/json-text.ts";
import { html } from "../../view/html.ts";
import { code } from "../../view/text.ts";
import type { ViewContext } from "../view.ts";
import { ownOf } from "../words.ts";
import { isObject, type Path, type RawJson, readTree, valueAt, withInvisibleEscaped } from "./draft.ts";
import { labelOf } from "./labels.ts";
import { MODEL_PARAMS, modelNamed } from "./model-settings.ts";
import { type Forms, fetchForms, type JsonSchema, schemaAt } from "./schema.ts";
import { storedPayload } from "./start.ts";

/** What an operation was submitted with. */
export interface RunConfig {
  readonly payload: RawJson;
  readonly settings: readonly Setting[];
}

/** Reads the payload of an operation; undefined if the service does not have it. */
export async function readRunConfig(
  { id, operation }: OperationView,
  { client, signal }: ViewContext,
): Promise<RunConfig | undefined> {
  const [text, forms] = await Promise.all([storedPayload(client, id, signal), fetchForms()]);
  if (text === undefined) return undefined;
  const payload = readTree(text, "payload");
  return { payload, settings: settingsOf(operation, payload, forms) };
}

/** One member of a payload that decides what a job computes. */
export interface Setting {
  /** Keys from the payload down to it. */
  readonly path: Path;
  /** JSON, or a text without its quotes. */
  readonly value: string;
  /** Its default in the same form; undefined if it has none. */
  readonly byDefault: string | undefined;
}

/** The members of a payload that name a blob. */
export const BLOBS = [
  "feature_url",
  "data_extractor_url",
  "previous_feature_url",
  "previous_data_extractor_url",
  "output_url",
];

/** The settings of a payload in its order, with their defaults. A blob has its name, without its place. */
export function settingsOf(operation: string, payload: RawJson, forms: Forms): readonly Setting[] {
  const defaultOf = defaultsOf(operation, payload, forms);
  const leavesOf = (path: Path, value: RawJson): Setting[] =>
    isObject(value) && Object.keys(value).length > 0
      ? Object.entries(value).flatMap(([key, member]) => leavesOf([...path, key], member))
      : [{ path, value: shown(value), byDefault: defaultOf(path) }];
  return Object.entries(isObject(payload) ? payload : {}).flatMap(([name, member]) =>
    name === "tags"
      ? []
      : leavesOf([name], typeof member === "string" ? member.replace(/^.*\//, "") : member),
  );
}

/** On one line, with numbers as they are spelled. */
function shown(value: RawJson): string {
  if (isRawNumber(value)) return value.rawJSON;
  return typeof value === "string" ? value : withInvisibleEscaped(JSON.stringify(value));
}

/** Defaults by path: of the schema, and of the parameters of the payload's model. An audit has those of the job that it examines. */
function defaultsOf(operation: string, payload: RawJson, forms: Forms): (path: Path) => string | undefined {
  const audited = operation === "audit" ? String(valueAt(payload, ["operation"]) ?? "run_ml_job") : operation;
  const schemas = [operation, audited].map((name) => ownOf<JsonSchema>(forms.payloads, name) ?? {});
  const model = modelNamed(forms, valueAt(payload, [...MODEL_PARAMS.slice(0, -1), "model"]));
  const parameters = model === undefined ? [] : forms.parameters[model]!;
  return (path) => {
    const isParameter = MODEL_PARAMS.every((key, i) => path[i] === key);
    const parameter = isParameter && parameters.find(({ name }) => name === path[MODEL_PARAMS.length]);
    if (parameter)
      return parameter.byDefault === null ? undefined : shown(readTree(parameter.byDefault, "default"));
    const byDefault = schemas
      .map((schema) => schemaAt(schema, path)?.default)
      .find((each) => each !== undefined);
    return byDefault === undefined ? undefined : shown(byDefault as RawJson);
  };
}

/** Whether a setting says something that its default does not. Another spelling of the same number does not. */
export function isChanged({ value, byDefault }: Setting): boolean {
  if (value === byDefault) return false;
  const areNumbers = [value, byDefault].every((text) => text !== undefined && /^-?\d[\d.eE+-]*$/.test(text));
  return !areNumbers || Number(value) !== Number(byDefault);
}

const SECTIONS: ReadonlySet<string | number> = new Set([
  "config",
  "ML params",
  "NN params",
  "Dot prediction",
]);

/** A setting in words and by its name, without the sections that every config of its job has. An argument of a model has no words. */
export function settingNames({ path }: { readonly path: Path }): VNode {
  const isArgument = path.includes("model_params") && path.at(-1) !== "model_params";
  const words = isArgument ? undefined : labelOf(String(path.at(-1)));
  return html`${words !== undefined && `${words} `}${code(settingName({ path }))}`;
}

export function settingName({ path }: { readonly path: Path }): string {
  const inner = path.filter((key) => !SECTIONS.has(key));
  return (inner.length === 0 ? path : inner).join(".");
}

/** Settings of several payloads in which they differ. */
export interface Difference {
  readonly path: Path;
  /** For each payload in its order; undefined for one without it. */
  readonly values: readonly (Setting | undefined)[];
}

/**
 * The settings in which payloads differ, in the order of their first mention. A setting that is left out counts as its default, if another
 * payload shows what that is; a payload that is not stored does not count.
 */
export function differencesOf(payloads: readonly (readonly Setting[] | undefined)[]): readonly Difference[] {
  const byName = Map.groupBy(
    payloads.flatMap((settings) => settings ?? []),
    ({ path }) => path.join("\0"),
  );
  return [...byName.values()].flatMap((present) => {
    const values = payloads.map((settings) => settings?.find((setting) => present.includes(setting)));
    const byDefault = present.find((each) => each.byDefault !== undefined)?.byDefault;
    const texts = values.flatMap((each, i) => (payloads[i] === undefined ? [] : [each?.value ?? byDefault]));
    return new Set(texts).size < 2 ? [] : [{ path: present[0]!.path, values }];
  });
}
