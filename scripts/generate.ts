/** Writes the generated files: JSON Schemas and the catalogue of model parameters. `--check` compares instead. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { jsonSchema, PUBLISHED_SCHEMAS, type SchemaName } from "../src/contract/schemas.ts";
import { findEnvironment } from "../src/engine/environment.ts";

const CATALOGUE = "src/contract/model-params/catalogue.json";

function generated(): Map<string, string> {
  const files = new Map<string, string>();
  for (const name of Object.keys(PUBLISHED_SCHEMAS) as SchemaName[]) {
    files.set(`schemas/${name}.json`, `${JSON.stringify(jsonSchema(name), null, 2)}\n`);
  }
  files.set(CATALOGUE, catalogue());
  return files;
}

function catalogue(): string {
  const { python } = findEnvironment();
  const done = spawnSync(python, ["-m", "mucast_engine.catalogue"], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, PYTHONPATH: "engine" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (done.status !== 0) throw new Error(`the catalogue could not be made: exit ${done.status}`);
  return done.stdout;
}

function isCurrent(path: string, text: string): boolean {
  try {
    return readFileSync(path, "utf8") === text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

const stale = [...generated()].filter(([path, text]) => !isCurrent(path, text));
if (process.argv.includes("--check")) {
  for (const [path] of stale) process.stderr.write(`${path} is not current; run npm run generate\n`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  for (const [path, text] of stale) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    process.stderr.write(`wrote ${path}\n`);
  }
}
