import { readFileSync } from "node:fs";
import nodeModules from "node:module";
import { z } from "zod";
import type { FormSchemas, ModelParameter } from "../../../contract/api/published-schemas.ts";
import { EXAMPLE_CONFIGS } from "../../../contract/config/example-configs.ts";
import { type Parameter, parametersOf, typesText } from "../../../contract/model-params/catalogue.ts";
import { findModel, MODEL_NAMES, MODELS, type Model } from "../../../contract/model-params/models.ts";
import { asksForGpu, refusalReason } from "../../../contract/model-params/refused-arguments.ts";
import { JOB_PAYLOADS } from "../openapi/component-schemas.ts";
import { IS_CLONE, SOURCES, WEB_TYPES, type WebFile, type WebFiles, webFile, webFiles } from "./web-files.ts";

const STATIC = new URL("../web/", SOURCES);

/** The module that the page loads; it imports all others. */
export const CONSOLE_ENTRY = "console/main.js";
/** Colours and marks of charts are those of the reports too. */
export const CONSOLE_STYLES = ["charts.css", "console.css", "console-forms.css", "console-run.css"] as const;
export const CONSOLE_ICON = "console.svg";
/** Fetched by the module beside it when the reader opens a form. */
export const CONSOLE_FORMS = "console/forms/forms.json";

/**
 * Reads the console: its styles, its icon, the schemas of its forms, and the modules that its entry reaches by static imports.
 * The entry comes first, and every module before its imports.
 * @throws Error for a module that imports a package or a Node module, which no browser has.
 */
export function readConsoleFiles(): WebFiles {
  const files = new Map<string, WebFile>();
  addModules(CONSOLE_ENTRY, files);
  for (const style of CONSOLE_STYLES) files.set(style, webFile(WEB_TYPES.css, readStatic(style)));
  files.set(CONSOLE_ICON, webFile(WEB_TYPES.svg, readStatic(CONSOLE_ICON)));
  files.set(CONSOLE_FORMS, webFile(WEB_TYPES.json, formSchemasText()));
  return webFiles(files);
}

function readStatic(name: string): Buffer {
  return readFileSync(new URL(name, STATIC));
}

const IMPORTED = /^(?:import|export)\b[^;"]*?\bfrom\s+"([^"]+)"|^import\s+"([^"]+)"/gm;

function addModules(path: string, files: Map<string, WebFile>): void {
  if (files.has(path)) return;
  const text = moduleText(path);
  files.set(path, webFile(WEB_TYPES.js, text));
  for (const [, named, bare] of text.matchAll(IMPORTED)) {
    const target = (named ?? bare)!;
    if (!target.startsWith(".")) throw new Error(`${path} imports ${target}, which no browser has`);
    addModules(new URL(target, `file:///${path}`).pathname.slice(1), files);
  }
}

/** @param path of the compiled module. */
function moduleText(path: string): string {
  const source = readFileSync(new URL(IS_CLONE ? path.replace(/\.js$/, ".ts") : path, SOURCES), "utf8");
  if (!IS_CLONE) return source;
  return withoutTypes(source).replaceAll(IMPORTED, (statement) => statement.replace(/\.ts"$/, '.js"'));
}

/**
 * Only a clone runs this: the oldest Node that the package supports lacks the function, so it is not a named import. Node warns at
 * the first use that the function may change, and that warning does not belong in the service's log.
 */
function withoutTypes(source: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return nodeModules.stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** The data from which the console builds its forms, as JSON text. */
export function formSchemasText(): string {
  const payloads = Object.entries(JOB_PAYLOADS).map(([name, schema]) => [
    name,
    z.toJSONSchema(schema, { io: "input" }),
  ]);
  const schemas: FormSchemas = {
    payloads: Object.fromEntries(payloads),
    models: Object.fromEntries(MODEL_NAMES.map((name) => [name, findModel(name).name])),
    parameters: Object.fromEntries(MODELS.map((model) => [model.name, listParameters(model)])),
    examples: EXAMPLE_CONFIGS,
  };
  return JSON.stringify(schemas);
}

/** The parameters of a model that a config may set. */
function listParameters({ name, library }: Model): ModelParameter[] {
  const isOffered = ({ name: argument }: Parameter) =>
    refusalReason(library, argument, argument, false) === undefined &&
    !asksForGpu(library, argument, "any value", false);
  return [...parametersOf(name).byName.values()].filter(isOffered).map((parameter) => ({
    name: parameter.name,
    takes: parameter.types === undefined ? "" : typesText(parameter.types),
    choices: parameter.choices ?? [],
    byDefault: parameter.default === null ? null : JSON.stringify(parameter.default),
  }));
}
