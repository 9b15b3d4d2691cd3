/**
 * The document that a service gives at /openapi.json, in others' hands: two linters, and a client of Python that a
 * generator makes of it.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { lockedPython } from "../../bench/peer-environment.ts";
import type { OpenApiDocument } from "../../src/service/http/openapi.ts";
import { endServices, type Serving, startServe } from "../service/service.testing.ts";

const LINTERS = resolve("tools/openapi-linters/node_modules");
/** They are to ask nothing of the network. */
const QUIET = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
/** Schemas, and those that have no name of their own; 265 when each status had a problem of its own. */
const MOST_MODELS = 120;

interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(command: string, args: readonly string[], cwd: string): Promise<Said> {
  const env = { ...process.env, ...QUIET };
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  return { code, stdout, stderr };
}

describe("the OpenAPI document of a service", { timeout: 600_000 }, () => {
  let service: Serving;
  let folder: string;
  before(async () => {
    service = await startServe();
    folder = join(service.folder, "openapi");
    await mkdir(folder);
    const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as OpenApiDocument;
    assert.deepEqual(document.servers, [{ url: service.url }]);
    await writeFile(join(folder, "openapi.json"), JSON.stringify(document));
  });
  after(endServices);

  test("has neither error nor warning to Redocly's rules", async () => {
    const linter = join(LINTERS, "@redocly/cli/bin/cli.js");
    const args = ["lint", "--extends", "recommended", "--format", "json", "openapi.json"];
    const { stdout, stderr } = await run(process.execPath, [linter, ...args], folder);
    const said = jsonOf<{ problems: readonly unknown[] }>(stdout, stderr);
    assert.deepEqual(said.problems, []);
  });

  test("has neither error nor warning to Spectral's rules", async () => {
    await writeFile(join(folder, "spectral.json"), JSON.stringify({ extends: ["spectral:oas"] }));
    const linter = join(LINTERS, "@stoplight/spectral-cli/dist/index.js");
    const args = ["lint", "--ruleset", "spectral.json", "--format", "json", "--quiet"];
    const { stdout, stderr } = await run(process.execPath, [linter, ...args, "openapi.json"], folder);
    assert.deepEqual(jsonOf(stdout, stderr), []);
  });

  test("gives a client of Python that runs a job: uploads, submits, follows and reads mu", async () => {
    const python = lockedPython("openapi-client", "test/openapi/requirements-client.txt");
    const config = "client.yaml";
    await writeFile(join(folder, config), "package_name_override: mucast_client\npost_hooks: []\n");
    const generated = await run(
      join(dirname(python), "openapi-python-client"),
      ["generate", "--path", "openapi.json", "--config", config, "--meta", "none", "--fail-on-warning"],
      folder,
    );
    assert.equal(generated.code, 0, `${generated.stdout}\n${generated.stderr}`);
    const models = globSync("mucast_client/models/*.py", { cwd: folder }).length;
    assert.ok(models > 50 && models < MOST_MODELS, `${models} files of models`);

    const program = resolve("test/openapi/run_job.py");
    const { code, stdout, stderr } = await run(
      python,
      [program, folder, service.url, resolve("examples/tiny/data")],
      folder,
    );
    assert.equal(code, 0, stderr);
    const { events, output_name, mu } = JSON.parse(stdout);
    assert.deepEqual([events.at(0), events.at(-1)], ["queued", "succeeded"]);
    const output = await (await fetch(`${service.url}/data/${output_name}`)).json();
    assert.deepEqual(mu, (output as { mu: unknown }).mu);
  });
});

/** What a linter says in JSON, be it nothing but an empty list. */
function jsonOf<T>(stdout: string, stderr: string): T {
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`${stdout}\n${stderr}\n\nnpm run setup -- --dev installs the linters`);
  }
}
