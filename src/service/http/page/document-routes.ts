import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { ERROR_TABLE } from "../../../contract/errors/error-codes.ts";
import { counted } from "../../../contract/errors/wording.ts";
import { type LimitUnit, type Settings, settingNames, settingsSchema } from "../../../contract/settings.ts";
import type { OpenApiDocument } from "../openapi/document.ts";
import { EXAMPLE_BLOBS, EXAMPLE_NAMES } from "../openapi/examples.ts";
import { type HttpApp, type HttpOptions, publicOrigin } from "../server/http-app.ts";
import { quickStart, section } from "./quick-start.ts";

/** Four folders up, both from src and from the compiled package. */
const ROOT = new URL("../../../../", import.meta.url);

/**
 * `GET /openapi.json`; `GET /examples/<name>`, the blobs that the curl lines of the document and of `mucast serve` upload; and
 * `GET /docs/<page>.md`, the pages that errors name.
 */
export function documentRoutes(app: HttpApp, { settings }: Pick<HttpOptions, "settings">): void {
  const examples = new URL("examples/sp500-30/data/", ROOT);
  fileRoutes(app, "/examples", examples, EXAMPLE_NAMES, "application/vnd.apache.parquet");
  const docs = new URL("docs/", ROOT);
  const pages = readdirSync(docs).filter((name) => name.endsWith(".md"));
  fileRoutes(app, "/docs", docs, pages, "text/plain; charset=utf-8");
  const write = documentWriter(app, settings);
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
        200: {
          description: "The document.",
          content: { "application/json": { schema: {} } },
        },
      },
    },
    handler: async (request, reply) =>
      reply.type("application/json; charset=utf-8").send(write(publicOrigin(settings, request))),
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

/** Takes the place of the description, which differs by origin. */
const DESCRIPTION_PLACE = "(description)";

/**
 * @returns a function that writes the document of this service: with an origin, so that a reader can run the examples without a change,
 *   and with its limits. What takes milliseconds is done once, for all origins.
 */
function documentWriter(app: HttpApp, settings: Settings): (origin: string) => string {
  let general: { readonly description: string; readonly text: string } | undefined;
  return (origin) => {
    general ??= generalDocument(app);
    const description = [
      general.description,
      quickStart({ origin, hasCredentials: settings.auth !== "none" }),
      errorTable(),
      limitTable(settings),
    ].join("\n\n");
    // The URLs of a caller's blobs have this origin, even if the store is a container or a bucket.
    return general.text
      .replaceAll(EXAMPLE_BLOBS, () => JSON.stringify(origin).slice(1, -1))
      .replace(JSON.stringify(DESCRIPTION_PLACE), () => JSON.stringify(description));
  };
}

/** The document as JSON, with the origin of the examples. */
function generalDocument(app: HttpApp) {
  const document = app.swagger() as unknown as OpenApiDocument;
  const info = { ...document.info, description: DESCRIPTION_PLACE };
  return {
    description: document.info.description,
    text: JSON.stringify({ ...document, info, servers: [{ url: EXAMPLE_BLOBS }] }),
  };
}

/** Every error code, in Markdown. */
function errorTable(): string {
  const rows = Object.entries(ERROR_TABLE).map(([code, { status, title, advice }]) => [
    `\`${code}\``,
    String(status),
    title,
    advice,
  ]);
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

/** The settings of a service that are marked as limits, in their order, in Markdown. */
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
