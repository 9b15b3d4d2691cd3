import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import nodeModules from "node:module";
import { formSchemasText } from "./console-forms.ts";

/** A file of the console, as the service sends it. */
export interface ConsoleFile {
  readonly type: string;
  readonly text: string;
}

export interface ConsoleFiles {
  /**
   * By path below `/web/<version>/`, such as `console/main.js`; the entry module comes first, and every module before its imports.
   */
  readonly files: ReadonlyMap<string, ConsoleFile>;
  /** Hash of all files. It is part of their URLs, so that a browser caches them and never mixes two versions. */
  readonly version: string;
}

/** `src/`, or `dist/` in the package: three folders up. */
const SOURCES = new URL("../../../", import.meta.url);
const STATIC = new URL("../web/", SOURCES);
/** The package contains compiled modules. In a clone, the service strips the types. */
const EXTENSION = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
const JAVASCRIPT = "text/javascript; charset=utf-8";

/** The module that the page loads; it imports all others. */
export const CONSOLE_ENTRY = "console/main.js";
export const CONSOLE_STYLES = ["console.css", "console-forms.css"] as const;
export const CONSOLE_ICON = "console.svg";
/** Fetched by the module beside it when the reader opens a form. */
export const CONSOLE_FORMS = "console/forms/forms.json";

/**
 * Reads the console: its styles, its icon, the schemas of its forms, and the modules that its entry reaches by static imports.
 * @throws Error for a module that imports a package or a Node module, which no browser has.
 */
export function readConsoleFiles(): ConsoleFiles {
  const files = new Map<string, ConsoleFile>();
  addModules(CONSOLE_ENTRY, files);
  for (const style of CONSOLE_STYLES)
    files.set(style, { type: "text/css; charset=utf-8", text: readStatic(style) });
  files.set(CONSOLE_ICON, { type: "image/svg+xml", text: readStatic(CONSOLE_ICON) });
  files.set(CONSOLE_FORMS, { type: "application/json", text: formSchemasText() });
  const hash = createHash("sha256");
  for (const [path, { text }] of files) hash.update(`${path}\0${text}\0`);
  return { files, version: hash.digest("hex").slice(0, 16) };
}

function readStatic(name: string): string {
  return readFileSync(new URL(name, STATIC), "utf8");
}

const IMPORTED = /^(?:import|export)\b[^;"]*?\bfrom\s+"([^"]+)"|^import\s+"([^"]+)"/gm;

function addModules(path: string, files: Map<string, ConsoleFile>): void {
  if (files.has(path)) return;
  const text = moduleText(path);
  files.set(path, { type: JAVASCRIPT, text });
  for (const [, named, bare] of text.matchAll(IMPORTED)) {
    const target = (named ?? bare)!;
    if (!target.startsWith(".")) throw new Error(`${path} imports ${target}, which no browser has`);
    addModules(new URL(target, `file:///${path}`).pathname.slice(1), files);
  }
}

/** @param path of the compiled module. */
function moduleText(path: string): string {
  const source = readFileSync(new URL(path.replace(/\.js$/, EXTENSION), SOURCES), "utf8");
  if (EXTENSION === ".js") return source;
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
