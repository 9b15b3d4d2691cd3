/** Writes the generated files: JSON Schemas, pages of docs and the catalogue of model parameters. `--check` compares instead. */

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { FINDING_TABLE } from "../src/audit/findings.ts";
import { jsonSchema, PUBLISHED_SCHEMAS, type SchemaName } from "../src/contract/api/published-schemas.ts";
import { EXAMPLE_CONFIGS, exampleConfigText } from "../src/contract/config/example-configs.ts";
import { ERROR_TABLE } from "../src/contract/errors/error-codes.ts";
import { WARNING_TABLE } from "../src/contract/problems/warnings.ts";
import { MUCAST_VERSION } from "../src/contract/version.ts";
import { findEnvironment } from "../src/engine/environment/environment.ts";
import { addOutput, makeDocument } from "../src/service/http/build-http.ts";
import { configurationPage } from "../src/service/settings/configuration-page.ts";
import { GENERATED, trackedFiles } from "./budgets.ts";
import { pythonModels } from "./python-models.ts";

/** A part of the page of warnings. */
const MEASURED_WARNINGS = "scripts/measured-warnings.md";
const PYTHON_CLIENT = "clients/python/mucast_client";
const CATALOGUE = "src/contract/model-params/catalogue.json";

async function generated(): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const name of Object.keys(PUBLISHED_SCHEMAS) as SchemaName[]) {
    files.set(`schemas/${name}.json`, `${JSON.stringify(jsonSchema(name), null, 2)}\n`);
  }
  const document = await makeDocument();
  files.set("schemas/openapi.json", `${JSON.stringify(document, null, 2)}\n`);
  files.set(`${PYTHON_CLIENT}/models.py`, pythonModels(addOutput(document)));
  files.set(
    `${PYTHON_CLIENT}/version.py`,
    `"""Generated from package.json; do not edit."""\n\n__version__ = "${MUCAST_VERSION}"\n`,
  );
  for (const example of EXAMPLE_CONFIGS) {
    files.set(`examples/configs/${example.name}.json`, exampleConfigText(example));
  }
  files.set("docs/errors.md", errorsPage());
  files.set("docs/warnings.md", warningsPage());
  files.set("docs/findings.md", findingsPage());
  files.set("docs/configuration.md", configurationPage());
  files.set(CATALOGUE, catalogue());
  files.set("src/client/output-schema.ts", outputSchemaModule());
  return files;
}

function errorsPage(): string {
  const rows = Object.entries(ERROR_TABLE).map(
    ([code, { status, exit, title, advice }]) =>
      `| \`${code}\` | ${exit ?? ""} | ${status} | ${title} | ${advice} |`,
  );
  return `# Errors

Generated from \`src/contract/errors/error-codes.ts\`; do not edit.

Bad input causes one error that names the place, the value and what to do, often in words that fit better than these. The command line prints it on stderr (JSON
with \`--log json\`), leaves stdout empty, and exits with the code below (\`canceled\`: 143 for SIGTERM, 129 for SIGHUP on a terminal).
\`status\` is the HTTP status of the same problem (RFC 9457).

Some errors fail only one ticker, which the output lists in \`failures\` while the others go on: \`fit_failed\`, \`diverged\`,
\`constant_target\`, \`insufficient_history\`, \`few_tickers\` and \`invalid_model_params\` for a single ticker, and \`engine_crashed\` if a worker died
twice on one task, or the workers' host twice. If a network for all tickers fails, the job fails.

A problem has at most 96 KiB: it lists up to 200 failures, \`failure_counts\` counts all by code, and its longest texts are cut.

\`mucast validate\` prints what it understood before an error that only the job itself would end with. \`mucast replay\` exits with 6
if the output differs and 7 if it cannot be replayed; its verdict on stdout says why ([audit.md](audit.md)).

| code | exit | status | meaning | what to do |
|---|---|---|---|---|
${rows.join("\n")}
`;
}

function warningsPage(): string {
  const rows = Object.entries(WARNING_TABLE).map(
    ([code, { cause, cure }]) => `| \`${code}\` | ${cause} | ${cure} |`,
  );
  return `# Warnings

Generated from \`src/contract/problems/warnings.ts\` and \`${MEASURED_WARNINGS}\`; do not edit.

A warning never stops a job. It appears on stderr and in the output's \`warnings\`, as
\`{ "code", "message", "ticker"?, "count"? }\`. The message names the values of the case at hand. A warning that lists tickers appears
once per job and has no \`ticker\`: \`count\` is their number, and the message names the first 20.

| code | cause | what to do |
|---|---|---|
${rows.join("\n")}

${readFileSync(MEASURED_WARNINGS, "utf8")}`;
}

function findingsPage(): string {
  const rows = Object.entries(FINDING_TABLE).map(
    ([code, { check, severity, meaning, advice }]) =>
      `| \`${code}\` | ${check} | ${severity} | ${meaning} | ${advice} |`,
  );
  return `# Findings

Generated from \`src/audit/findings.ts\`; do not edit.

These are the findings of an audit ([audit.md](audit.md)). With a \`high\` or \`medium\` finding, \`mucast audit\` exits with 8; with only
\`note\` findings, it does not. The message of a finding names the values of the case at hand, and its \`evidence\` has them as JSON.

| code | check | severity | what it means | what to do |
|---|---|---|---|---|
${rows.join("\n")}
`;
}

/** Keywords of JSON Schema that the client's checks do not use. */
const LEFT_OUT = new Set(["title", "description", "minimum", "maximum"]);

/** For an object that any member may follow, and for a list of names that may grow, the checks use only the type. */
function brief(key: string, value: unknown): unknown {
  if (LEFT_OUT.has(key) && typeof value !== "object") return undefined;
  if (key === "propertyNames") return undefined;
  if (key === "additionalProperties" && Object.keys(value as object).length === 0) return undefined;
  const { anyOf } = (value ?? {}) as { readonly anyOf?: readonly { readonly type?: string }[] };
  return anyOf?.at(-1)?.type === "string" ? { type: "string" } : value;
}

function outputSchemaModule(): string {
  const { $defs } = jsonSchema("output-blob") as { readonly $defs: Readonly<Record<string, object>> };
  const lines = Object.entries($defs).map(([name, schema]) => `  ${name}: ${JSON.stringify(schema, brief)},`);
  return `// Generated from src/contract/output/output-blob.ts; do not edit.
import type { Schema } from "./checks.ts";

export const SCHEMAS: Readonly<Record<string, Schema>> = {
${lines.join("\n")}
};
`;
}

function catalogue(): string {
  const { python } = findEnvironment();
  const done = spawnSync(python, ["-m", "mucast_engine.catalogue"], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    // On a busy machine, the libraries' further threads spend more time waiting for each other than the small fits take.
    env: { ...process.env, PYTHONPATH: "engine", OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1" },
  });
  if (done.status !== 0) throw new Error(`the catalogue could not be made: ${done.stderr}`);
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

const files = await generated();
for (const path of trackedFiles()) {
  // Budgets do not count these files, so each must be written here.
  if (GENERATED.test(path) !== files.has(path)) {
    throw new Error(
      `${path}: scripts/budgets.ts and scripts/generate.ts disagree about whether it is generated`,
    );
  }
}
const stale = [...files].filter(([path, text]) => !isCurrent(path, text));
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
