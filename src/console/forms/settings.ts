import { MucastApiError, type OperationView } from "../../client/index.ts";
import type { FormSchemas } from "../../contract/api/published-schemas.ts";
import { isRawNumber, type RawJson } from "../../contract/json/json-text.ts";
import type { ViewContext } from "../view.ts";
import { formSchemas, payloadSchema } from "./form-schemas.ts";
import { labelOf } from "./labels.ts";
import { modelNamed } from "./parameters.ts";
import { isObject, type Path, readTree, valueAt, withInvisibleEscaped } from "./payload-tree.ts";
import { allParts, formParts } from "./schema-fields.ts";

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
  const [text, schemas] = await Promise.all([storedPayload(client, id, signal), formSchemas()]);
  if (text === undefined) return undefined;
  const payload = readTree(text, "payload");
  return { payload, settings: settingsOf(operation, payload, schemas) };
}

/** The JSON text of a payload that the service has kept; undefined if it has none. */
export async function storedPayload(
  client: ViewContext["client"],
  id: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  return client.getPayload(id, { signal }).catch((error: unknown) => {
    if (error instanceof MucastApiError && error.code === "not_found") return undefined;
    throw error;
  });
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

/** Members that say where a job reads and how it is found, not what it computes. */
const NO_SETTINGS: ReadonlySet<string> = new Set([
  "feature_url",
  "data_extractor_url",
  "previous_feature_url",
  "previous_data_extractor_url",
  "output_url",
  "tags",
]);

/** The settings of a payload in its order, with their defaults. */
export function settingsOf(operation: string, payload: RawJson, schemas: FormSchemas): readonly Setting[] {
  if (!isObject(payload)) return [];
  const defaults = defaultsOf(operation, payload, schemas);
  return Object.entries(payload).flatMap(([name, member]) =>
    NO_SETTINGS.has(name) ? [] : leavesOf([name], member, defaults),
  );
}

/** Whether a setting says something that its default does not. Another spelling of the same number does not. */
export function isChanged({ value, byDefault }: Setting): boolean {
  if (value === byDefault) return false;
  const areNumbers = [value, byDefault].every((text) => text !== undefined && NUMBER.test(text));
  return !areNumbers || Number(value) !== Number(byDefault);
}

const NUMBER = /^-?\d[\d.eE+-]*$/;

/** The name of a setting without the sections that every config of its job has. */
export function settingName({ path }: Pick<Setting, "path">): string {
  const inner = path.filter((key) => !SECTIONS.has(key));
  return (inner.length === 0 ? path : inner).join(".");
}

/** The name of a setting in words; undefined for an argument of a model, and for a member that the forms do not know. */
export function settingLabel({ path }: Pick<Setting, "path">): string | undefined {
  return path.includes("model_params") && path.at(-1) !== "model_params" ? undefined : labelOf(path.at(-1)!);
}

const SECTIONS: ReadonlySet<string> = new Set(["config", "ML params", "NN params", "Dot prediction"]);

type Defaults = (path: Path) => string | undefined;

function leavesOf(path: Path, value: RawJson, defaults: Defaults): Setting[] {
  if (isObject(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([key, member]) => leavesOf([...path, key], member, defaults));
  return [{ path, value: shown(value), byDefault: defaults(path) }];
}

/** On one line, with numbers as they are spelled. */
function shown(value: RawJson): string {
  if (isRawNumber(value)) return value.rawJSON;
  return typeof value === "string" ? value : withInvisibleEscaped(JSON.stringify(value));
}

const MODEL = ["config", "ML params", "model"];
const MODEL_PARAMS = ["config", "ML params", "model_params"];

/** Defaults by path: of the schema, and of the parameters of the payload's model. An audit has those of the job that it examines. */
function defaultsOf(operation: string, payload: RawJson, schemas: FormSchemas): Defaults {
  const job = operation === "audit" ? (valueAt(payload, ["operation"]) ?? "run_ml_job") : operation;
  const known = [operation, job].filter(
    (name): name is keyof FormSchemas["payloads"] =>
      typeof name === "string" && Object.hasOwn(schemas.payloads, name),
  );
  const byPath = new Map(
    known
      .flatMap((name) => allParts(formParts(payloadSchema(schemas, name))))
      .flatMap((part) =>
        part.kind === "group" || part.byDefault === undefined
          ? []
          : [[part.path.join("\0"), plain(part.byDefault)] as const],
      ),
  );
  const named = valueAt(payload, MODEL);
  const model = modelNamed(schemas, named);
  for (const { name, byDefault } of model === undefined ? [] : schemas.parameters[model]!)
    if (byDefault !== null) byPath.set([...MODEL_PARAMS, name].join("\0"), plain(byDefault));
  return (path) => byPath.get(path.join("\0"));
}

/** A default in the form of a value. @param json its JSON text. */
function plain(json: string): string {
  const value: unknown = JSON.parse(json);
  return typeof value === "string" ? value : json;
}

/** Settings of several payloads in which they differ. */
export interface Difference {
  readonly path: Path;
  /** For each payload in its order; undefined for one without it. */
  readonly values: readonly (Setting | undefined)[];
}

/**
 * The settings in which payloads differ, in the order of their first mention. A setting that is left out counts as its default, if another
 * payload shows what that is.
 */
export function differencesOf(payloads: readonly (readonly Setting[])[]): readonly Difference[] {
  const byName = new Map<string, (Setting | undefined)[]>();
  for (const [i, settings] of payloads.entries())
    for (const setting of settings) {
      const name = setting.path.join("\0");
      const values = byName.get(name) ?? payloads.map(() => undefined);
      values[i] = setting;
      byName.set(name, values);
    }
  return [...byName.values()].flatMap((values) => {
    const present = values.filter((each) => each !== undefined);
    const byDefault = present.find((each) => each.byDefault !== undefined)?.byDefault;
    const texts = new Set(values.map((each) => each?.value ?? byDefault));
    return texts.size < 2 ? [] : [{ path: present[0]!.path, values }];
  });
}
