import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { z } from "zod";
import { type Fault, MucastError } from "../../contract/errors/errors.ts";
import { faultsOf, invalidRequest } from "../../contract/errors/faults.ts";
import { causeOf } from "../../contract/errors/system-error.ts";
import { parseJson } from "../../contract/json/json-text.ts";
import { userFolder } from "../../contract/machine/folders.ts";
import { type Settings, settingNames, settingsSchema } from "../../contract/settings.ts";

export type ServiceSettings = Settings & { readonly data_dir: string; readonly blob_url: string };

export type SettingFlags = Readonly<Record<string, string | undefined>>;

/** By flag, else environment variable, else settings file, else default. A blank variable counts as unset. */
export function loadSettings(flags: SettingFlags, env: NodeJS.ProcessEnv): ServiceSettings {
  for (const [key, flag] of Object.entries(flags)) {
    if (flag?.trim() !== "") continue;
    // A mistake of a script, which would count as 0 for a number.
    const message = "is empty; leave it out, or give a value";
    throw invalidRequest([{ path: `--${key.replaceAll("_", "-")}`, message }]);
  }
  const path = flags.settings ?? env.MUCAST_SETTINGS;
  const values: Record<string, unknown> = path ? readSettingsFile(path) : {};
  const sources = new Map(Object.keys(values).map((key) => [key, `${path}: ${key}`]));
  const set = (key: string, value: string, source: string) => {
    values[key] = value;
    sources.set(key, source);
  };
  for (const key of Object.keys(settingsSchema.shape)) {
    const names = namesOf(key);
    const variable = names.env === undefined ? "" : (env[names.env] ?? "");
    if (variable.trim() !== "") set(key, variable, names.env!);
    const flag = flags[key];
    if (flag !== undefined && names.flag !== undefined) set(key, flag, names.flag);
  }
  const parsed = settingsSchema.safeParse(values);
  if (!parsed.success) {
    const faults = faultsOf(parsed.error, settingsSchema, "", values);
    throw invalidRequest(faults.map((fault) => withSource(fault, sources, values)));
  }
  const dataDir = resolve(parsed.data.data_dir ?? join(userFolder("XDG_DATA_HOME", env), "mucast"));
  return { ...parsed.data, data_dir: dataDir, blob_url: parsed.data.blob_url ?? join(dataDir, "blobs") };
}

function readSettingsFile(path: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    const message = `the settings file ${path} cannot be read: ${causeOf(cause)}`;
    throw new MucastError("invalid_request", message, { path }, { cause });
  }
  const values = parseJson(text, path);
  if (typeof values === "object" && values !== null && !Array.isArray(values)) return { ...values };
  throw new MucastError("invalid_request", `the settings file ${path} is not a JSON object`, { path });
}

/** A fault with the flag, variable or file that its value came from, and without the value of a secret. */
function withSource(fault: Fault, sources: ReadonlyMap<string, string>, values: Record<string, unknown>) {
  const key = /^\w+/.exec(fault.path.replace(/^\./, ""))?.[0] ?? "";
  const names = namesOf(key);
  const value = values[key];
  const message = names.secret
    ? "is not as docs/configuration.md wants it; its value is not shown"
    : (typeof value === "string" && names.fault?.(value)) || fault.message;
  return { ...fault, path: sources.get(key) ?? fault.path, message };
}

function namesOf(key: string) {
  const fields: Readonly<Record<string, z.ZodType>> = settingsSchema.shape;
  return (Object.hasOwn(fields, key) && settingNames.get(fields[key]!)) || {};
}

const SECRET_VARIABLES = [
  "AZURE_STORAGE_CONNECTION_STRING",
  "AZURE_STORAGE_SAS_TOKEN",
  "AZURE_CLIENT_SECRET",
  "AZURE_CLIENT_CERTIFICATE_PASSWORD",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "RAY_AUTH_TOKEN",
  "MLFLOW_TRACKING_TOKEN",
  "MLFLOW_TRACKING_PASSWORD",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
] as const;

/** The texts that no log line may show: secrets of the settings and of the environment, and parts of them. */
export function secretsOf(settings: Settings, env: NodeJS.ProcessEnv): string[] {
  const { webhooks, blob_url } = settings;
  const secrets = [
    ...Object.entries(settings).map(([key, value]) => (namesOf(key).secret ? value : undefined)),
    ...webhooks.map(({ secret }) => secret),
    ...SECRET_VARIABLES.map((name) => env[name]),
    /AccountKey=([^;]+)/.exec(env.AZURE_STORAGE_CONNECTION_STRING ?? "")?.[1],
    blob_url?.split("?")[1],
  ];
  return secrets.filter((secret) => typeof secret === "string" && secret !== "") as string[];
}
