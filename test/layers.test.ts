import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

/** What each folder of src/ may import besides itself: one direction, the way of the data. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  contract: [],
  blob: ["contract"],
  tables: ["contract"],
  ingest: ["contract", "tables"],
  panel: ["contract"],
  evaluate: ["contract"],
  engine: ["contract"],
  prepare: ["contract", "blob", "tables", "ingest"],
  jobs: ["contract", "blob", "ingest", "panel", "evaluate", "engine"],
  replay: ["contract", "blob", "ingest", "evaluate", "jobs", "outputs"],
  outputs: ["contract", "blob", "ingest", "evaluate", "client"],
  report: ["contract", "blob", "evaluate", "outputs", "view"],
  export: ["contract", "blob", "evaluate", "outputs", "tables"],
  choose: ["contract", "evaluate", "outputs"],
  tracking: ["contract", "blob", "evaluate", "outputs", "report"],
  audit: ["contract", "blob", "ingest", "panel", "evaluate", "engine", "jobs", "outputs"],
  processes: ["contract", "engine"],
  executors: ["contract", "blob", "engine", "jobs", "replay", "audit", "processes"],
  service: [
    "contract",
    "blob",
    "ingest",
    "engine",
    "prepare",
    "jobs",
    "replay",
    "audit",
    "outputs",
    "report",
    "tracking",
    "processes",
    "executors",
  ],
  client: ["contract"],
  view: ["contract"],
  console: ["contract", "client", "view"],
  cli: [
    "contract",
    "blob",
    "engine",
    "prepare",
    "jobs",
    "replay",
    "audit",
    "outputs",
    "report",
    "export",
    "choose",
    "tracking",
    "executors",
    "service",
    "client",
  ],
};

/** The folders of src/contract, each with those that it may import: from codes and schemas up to the operations of the API. */
const CONTRACT_FOLDERS: Record<string, readonly string[]> = {
  errors: [],
  machine: ["errors"],
  market: ["errors"],
  json: ["errors"],
  schema: ["json"],
  problems: ["errors", "json", "schema"],
  "model-params": ["errors", "json", "market", "problems"],
  config: ["errors", "json", "market", "schema", "problems", "model-params"],
  output: ["schema", "problems", "config"],
  api: ["schema", "problems", "model-params", "config", "output"],
};

/** The folders of src/jobs: what both jobs use imports neither of them, and no job imports the other. */
const JOB_FOLDERS: Record<string, readonly string[]> = {
  shared: ["plan.ts"],
  ml: ["shared", "plan.ts"],
  dl: ["shared", "plan.ts"],
};

/** The folders of src/report: what outputs hold, the charts and tables of a section, and the sections. */
const REPORT_FOLDERS: Record<string, readonly string[]> = {
  statistics: [],
  evidence: ["statistics"],
  sections: ["statistics", "evidence", "section.ts"],
};

/** The folders of src/service: from the tables and the log over blobs and operations up to HTTP and the tools for agents. */
const SERVICE_FOLDERS: Record<string, readonly string[]> = {
  settings: [],
  database: ["settings"],
  telemetry: ["database"],
  auth: ["database", "telemetry"],
  store: ["database"],
  queue: ["database", "settings", "store", "telemetry", "row-sweep.ts"],
  webhooks: ["database", "queue", "telemetry"],
  blobs: ["auth", "database", "settings", "store", "telemetry", "row-sweep.ts"],
  forecast: ["auth", "blobs"],
  operations: [
    ...["auth", "blobs", "database", "forecast", "queue", "settings", "store", "telemetry"],
    ...["abort-error.ts", "row-sweep.ts"],
  ],
  "request-process": ["auth", "blobs", "settings", "telemetry", "abort-error.ts"],
  preparation: ["auth", "blobs", "request-process", "abort-error.ts"],
  tracking: ["blobs", "database", "queue", "request-process", "settings", "store", "telemetry"],
  report: ["auth", "blobs", "database", "forecast", "abort-error.ts"],
  http: [...["auth", "blobs", "operations", "preparation", "report", "telemetry"], "abort-error.ts"],
  mcp: ["auth", "forecast", "http", "operations", "telemetry", "abort-error.ts"],
};

/** The folders of src/executors besides its own files, and which of them each may import: no executor imports another. */
const EXECUTOR_FOLDERS: Record<string, readonly string[]> = {
  process: [],
  "container-apps": [],
};

/** Folders of pure functions: arrays in, arrays out. */
const PURE = ["panel", "evaluate"];

const IMPORT = /^(?:import|export)\s[^;]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\(\s*"([^"]+)"/gm;

interface Import {
  readonly file: string;
  readonly folder: string;
  readonly target: string;
}

/** The imports of a source file: by name, for side effects, or at run time. */
function targetsOf(source: string): string[] {
  return [...source.matchAll(IMPORT)].map(([, named, bare, dynamic]) => (named ?? bare ?? dynamic)!);
}

function importsOf(file: string): Import[] {
  const folder = file.split("/")[1]!;
  return targetsOf(readFileSync(file, "utf8")).map((target) => ({ file, folder, target }));
}

const imports = globSync("src/**/*.ts")
  .filter((file) => !/\.(test|testing)\.ts$/.test(file))
  .flatMap(importsOf);

test("detects every way to import", () => {
  const source = [
    'import { a } from "./a.ts";',
    'import type {\n  B,\n} from "./b.ts";',
    'export * from "./c.ts";',
    'import "./d.ts";',
    'const e = await import("./e.ts");',
    'import f from "./f.json" with { type: "json" };',
    'export const text = "from a place";',
  ].join("\n");
  const names = ["a.ts", "b.ts", "c.ts", "d.ts", "e.ts", "f.json"];
  assert.deepEqual(
    targetsOf(source),
    names.map((name) => `./${name}`),
  );
});

test("every folder of src belongs to a layer", () => {
  assert.deepEqual([...new Set(imports.map(({ folder }) => folder))].sort(), Object.keys(MAY_IMPORT).sort());
});

test("imports between folders go in one direction", () => {
  const wrong = imports.filter(({ file, folder, target }) => {
    if (!target.startsWith(".")) return false;
    const there = new URL(target, `file:///${file}`).pathname.split("/")[2]!;
    return there !== folder && !MAY_IMPORT[folder]?.includes(there);
  });
  assert.deepEqual(wrong, []);
});

test("the folders of the contract import each other in one direction, and none its settings", () => {
  checkSubfolders("contract", CONTRACT_FOLDERS);
});

test("the two jobs share only what is in their shared folder", () => {
  checkSubfolders("jobs", JOB_FOLDERS);
});

/**
 * @param folder a path under src.
 * @param subfolders what each of them may import: other subfolders, and files directly in the folder.
 */
function checkSubfolders(folder: string, subfolders: Readonly<Record<string, readonly string[]>>): void {
  const partOf = (path: string) => new RegExp(`^/?src/${folder}/([^/]+)`).exec(path)?.[1];
  const inSubfolders = imports.filter(
    ({ file }) => file.startsWith(`src/${folder}/`) && !partOf(file)!.endsWith(".ts"),
  );
  assert.deepEqual(
    [...new Set(inSubfolders.map(({ file }) => partOf(file)))].sort(),
    Object.keys(subfolders).sort(),
  );
  const wrong = inSubfolders.filter(({ file, target }) => {
    if (!target.startsWith(".")) return false;
    const own = partOf(file)!;
    const there = partOf(new URL(target, `file:///${file}`).pathname);
    return there !== undefined && there !== own && !subfolders[own]?.includes(there);
  });
  assert.deepEqual(wrong, []);
}

test("the folders of the service import each other in one direction", () => {
  checkSubfolders("service", SERVICE_FOLDERS);
});

test("a report goes from statistics over evidence to its sections", () => {
  checkSubfolders("report", REPORT_FOLDERS);
});

test("no executor imports another, and their shared files import none of them", () => {
  const subfolders = new Set<string>();
  const wrong = imports.filter(({ file, target }) => {
    if (!file.startsWith("src/executors/") || !target.startsWith(".")) return false;
    const [own, there] = [file, new URL(target, `file:///${file}`).pathname.slice(1)].map(executorFolder);
    if (own !== undefined) subfolders.add(own);
    return there !== undefined && there !== own && !(own && EXECUTOR_FOLDERS[own]?.includes(there));
  });
  assert.deepEqual(wrong, []);
  assert.deepEqual([...subfolders].sort(), Object.keys(EXECUTOR_FOLDERS).sort());
});

function executorFolder(path: string): string | undefined {
  return /^src\/executors\/([^/]+)\//.exec(path)?.[1];
}

test("panel and evaluate import no I/O", () => {
  const wrong = imports.filter(({ folder, target }) => PURE.includes(folder) && !target.startsWith("."));
  assert.deepEqual(wrong, []);
});

test("published code imports no development package", () => {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  const installed = { ...dependencies, ...optionalDependencies };
  const wrong = imports.filter(({ target }) => {
    const name = target
      .split("/")
      .slice(0, target.startsWith("@") ? 2 : 1)
      .join("/");
    return !target.startsWith(".") && !target.startsWith("node:") && !(name in installed);
  });
  assert.deepEqual(wrong, []);
});
