import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { curlLine } from "../../contract/curl-line.ts";
import { ERROR_TABLE } from "../../contract/errors/error-codes.ts";
import { counted } from "../../contract/errors/wording.ts";
import { type LimitUnit, type Settings, settingNames, settingsSchema } from "../../contract/settings.ts";
import type { OpenApiDocument } from "./document.ts";
import { EXAMPLE_BLOBS, EXAMPLE_NAMES, ML_PAYLOAD } from "./examples.ts";
import type { HttpApp, HttpOptions } from "./http-app.ts";

/** Three folders up, both from src and from the compiled package. */
const ROOT = new URL("../../../", import.meta.url);

/** `GET /openapi.json`; `/examples/<name>`, which the curl lines upload; and `/docs/<page>.md`, the pages that errors name. */
export function documentRoutes(app: HttpApp, { settings }: Pick<HttpOptions, "settings">): void {
  const examples = new URL("examples/sp500-30/data/", ROOT);
  fileRoutes(app, "/examples", examples, EXAMPLE_NAMES, "application/vnd.apache.parquet");
  const docs = new URL("docs/", ROOT);
  const pages = readdirSync(docs).filter((name) => name.endsWith(".md"));
  fileRoutes(app, "/docs", docs, pages, "text/plain; charset=utf-8");
  app.route({
    method: "GET",
    url: "/openapi.json",
    config: { access: "anyone" },
    schema: {
      operationId: "openapi",
      summary: "This document",
      description: "OpenAPI 3.1, with this service as its server.",
      tags: ["Service"],
      response: {
        200: { description: "The document.", content: { "application/json": { schema: {} } } },
      },
    },
    // With the origin of the request, so that a reader can run the examples without a change, and with the limits of this service.
    handler: async ({ publicOrigin: origin }, reply) => {
      const document = app.swagger() as unknown as OpenApiDocument;
      const description = [
        document.info.description,
        quickStart({ origin, hasKey: settings.auth !== "none" }),
        errorTable(),
        limitTable(settings),
      ].join("\n\n");
      const shown = { ...document, info: { ...document.info, description }, servers: [{ url: origin }] };
      // The URLs of a caller's blobs have this origin, even if the store is a container or a bucket.
      const text = JSON.stringify(shown, (key, value) =>
        typeof value === "string" && key !== "description"
          ? value.replaceAll(EXAMPLE_BLOBS, () => origin)
          : value,
      );
      return reply.type("application/json; charset=utf-8").send(text);
    },
  });
}

function fileRoutes(app: HttpApp, path: string, folder: URL, names: readonly string[], type: string): void {
  for (const name of names) {
    const options = { config: { access: "anyone", isPage: true }, schema: { hide: true } } as const;
    app.get(`${path}/${name}`, options, async (_request, reply) =>
      reply.type(type).send(await readFile(new URL(name, folder))),
    );
  }
}

function errorTable(): string {
  const rows = Object.entries(ERROR_TABLE).map(([code, entry]) => {
    const { status, title, advice } = entry;
    return [`\`${code}\``, String(status), title, advice];
  });
  const intro =
    "If a job fails, the operation's `error` holds the problem, and requests for the operation still return 200.";
  return section("Errors", `${intro}\n\n${table(["code", "status", "title", "what to do"], rows)}`);
}

const IN_UNIT: Readonly<Record<LimitUnit, (value: number) => string>> = {
  bytes: (value) => counted(value, "byte"),
  seconds: (value) => `${value} s`,
  days: (value) => counted(value, "day"),
  count: String,
};

function limitTable(settings: Settings): string {
  const rows = Object.entries(settingsSchema.shape).flatMap(([key, field]) => {
    const unit = settingNames.get(field)?.limit;
    if (unit === undefined) return [];
    return [[`\`${key}\``, IN_UNIT[unit](settings[key as keyof Settings] as number), field.description!]];
  });
  return section("Limits of this service", table(["setting", "value", "description"], rows));
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  return [headings, headings.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
}

interface CurlTarget {
  readonly origin: string;
  /** Whether requests need a key or token, which the commands take from the variable MUCAST_API_KEY. */
  readonly hasKey: boolean;
}

export function uploadLines({ origin, hasKey }: CurlTarget): string[] {
  return EXAMPLE_NAMES.map((name) => {
    const body = { from: `${origin}/examples/${name}` };
    return curlLine({ method: "PUT", url: `${origin}/data/${name}`, hasKey, body });
  });
}

export function submitLine({ origin, hasKey }: CurlTarget, wait?: number): string {
  const { config, ...urls } = ML_PAYLOAD;
  // A line for each URL and one for the config.
  const payload = `${JSON.stringify(urls, null, 2).slice(0, -2)},\n  "config": ${JSON.stringify(config)}\n}`;
  const prefer = wait === undefined ? {} : { Prefer: `wait=${wait}` };
  const headers = { "Content-Type": "application/json", ...prefer };
  const body = payload.replaceAll(EXAMPLE_BLOBS, origin);
  return curlLine({ method: "POST", url: `${origin}/v1/run_ml_job`, headers, hasKey, body });
}

function quickStart(service: CurlTarget): string {
  const { origin, hasKey } = service;
  const get = (path: string, isStream = false) =>
    curlLine({ method: "GET", url: `${origin}${path}`, hasKey, isStream });
  const steps = {
    "Upload the two example blobs of the service. To make your own from a price CSV, use `mucast prepare`.":
      uploadLines(service).join("\n"),
    "Submit a job and keep its id.": `ID=$(${submitLine(service)} | sed 's/^{"id":"\\([^"]*\\)".*/\\1/')`,
    "Follow its events until it ends.": get("/v1/operations/$ID/events", true),
    "Get its result, which names the output.": get("/v1/operations/$ID"),
    "Get the output.": `${get("/data/ml_engine_$ID.json")} > output.json`,
  };
  const key = hasKey ? ["First set the variable `MUCAST_API_KEY` to your key or token."] : [];
  const texts = Object.entries(steps).map(([what, lines]) => `${what}\n\n\`\`\`sh\n${lines}\n\`\`\``);
  return section("Quick start", [...key, ...texts].join("\n\n"));
}

/** HTML that a reader opens, as Markdown allows. The blank lines make the inside Markdown again. */
function section(title: string, text: string): string {
  return `<details>\n<summary>${title}</summary>\n\n${text}\n\n</details>`;
}
