import { z } from "zod";
import { settingNames, settingsSchema } from "../../contract/settings.ts";

/** docs/configuration.md: every setting with its names, default and limits. */
export function configurationPage(): string {
  const { properties } = z.toJSONSchema(settingsSchema, { io: "input" }) as {
    properties: Record<string, JsonProperty>;
  };
  const rows = Object.entries(settingsSchema.shape).map(([key, field]) => {
    const names = settingNames.get(field) ?? {};
    const cells = [
      `\`${key}\``,
      code(names.flag),
      code(names.env),
      defaultText(properties[key]!),
      limits(properties[key]!),
    ];
    return `| ${cells.join(" | ")} | ${properties[key]!.description ?? ""} |`;
  });
  return `# Configuration of \`mucast serve\`

Generated from \`src/contract/settings.ts\`; do not edit.

A setting comes from its flag, or else from its environment variable, the settings file, or its default, in this order. The settings
file is JSON with the keys below; \`--settings\` or \`MUCAST_SETTINGS\` names it. An unknown key is an error that suggests the nearest
one. Lists are JSON arrays in the file, and words separated by spaces or commas in a variable. Secrets can be in the file or in the
environment; they are never shown or logged.

| key | flag | variable | default | accepted | description |
|---|---|---|---|---|---|
${rows.join("\n")}

## Also read from the environment

| variable | description |
|---|---|
| \`MUCAST_SETTINGS\` | the settings file |
| \`MUCAST_PYTHON\` | a Python interpreter for jobs that has the engine's libraries, see [engine.md](engine.md) |
| \`AZURE_STORAGE_CONNECTION_STRING\`, \`AZURE_STORAGE_SAS_TOKEN\`, \`AZURE_CLIENT_ID\` and others of DefaultAzureCredential | credentials of the storage, see [storage.md](storage.md) |
| \`AWS_REGION\`, \`AWS_ENDPOINT_URL\`, \`AWS_ACCESS_KEY_ID\` and others of the AWS SDK, \`MUCAST_S3_PATH_STYLE\` | region, address and credentials of S3, see [storage.md](storage.md#credentials-for-s3) |
| \`RAY_AUTH_TOKEN\` or \`RAY_AUTH_TOKEN_PATH\`, \`RAY_USE_TLS\`, \`RAY_TLS_*\` | token and certificates of the cluster in \`engine\`, see [cluster.md](cluster.md) |
| \`MLFLOW_TRACKING_TOKEN\`, or \`MLFLOW_TRACKING_USERNAME\` and \`MLFLOW_TRACKING_PASSWORD\` | credentials of the server in \`mlflow_tracking_uri\`, see [tracking.md](tracking.md) |
| \`OTEL_EXPORTER_OTLP_ENDPOINT\`, \`OTEL_SERVICE_NAME\` and others of OpenTelemetry | where traces go, see [observability.md](observability.md) |
| \`NODE_EXTRA_CA_CERTS\` | additional certificates to trust |

## A settings file

\`\`\`json
{
  "port": 8080,
  "public_url": "https://forecasts.example.com",
  "auth": "keys",
  "blob_url": "https://acct.blob.core.windows.net/models",
  "webhooks": [
    { "name": "optimizer", "url": "https://optimizer.example.com/hooks", "secret": "whsec_dHdlbnR5LWZvdXIgYnl0ZXMsIG9yIG1vcmU=", "types": ["succeeded"] }
  ]
}
\`\`\`
`;
}

interface JsonProperty {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly shownDefault?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
}

function code(text: string | undefined): string {
  return text === undefined ? "" : `\`${text}\``;
}

function defaultText(property: JsonProperty): string {
  if (property.shownDefault !== undefined) return property.shownDefault;
  if (property.default === undefined) return "";
  if (Array.isArray(property.default))
    return property.default.length === 0 ? "none" : property.default.join(", ");
  return `\`${property.default}\``;
}

function limits({ type, enum: names, minimum, maximum }: JsonProperty): string {
  if (names !== undefined) return names.map((name) => `\`${name}\``).join(", ");
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  return type === "array" ? "list" : "text";
}
