import type { Settings } from "../../contract/settings.ts";

const SECRET_VARIABLES = [
  "AZURE_STORAGE_CONNECTION_STRING",
  "AZURE_STORAGE_SAS_TOKEN",
  "AZURE_CLIENT_SECRET",
  "AZURE_CLIENT_CERTIFICATE_PASSWORD",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
] as const;

/** What must be seen in no log line: the secrets of the settings and of the environment, and parts of them. */
export function secretsOf(settings: Settings, env: NodeJS.ProcessEnv): string[] {
  const { database_url, webhooks, blob_url } = settings;
  const wholes = [
    database_url,
    ...webhooks.map(({ secret }) => secret),
    ...SECRET_VARIABLES.map((name) => env[name]),
    /AccountKey=([^;]+)/.exec(env.AZURE_STORAGE_CONNECTION_STRING ?? "")?.[1],
    blob_url?.split("?")[1],
  ];
  return wholes.filter((secret) => secret !== undefined && secret !== "") as string[];
}
