/** Uses of the document that a service serves at /openapi.json: two linters, and a generated Python client. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { lockedPython } from "../../scripts/locked-python.ts";
import type { OpenApiDocument } from "../../src/service/http/document.ts";
import { endServices, type Serving, startServe } from "../service/service.testing.ts";

const LINTERS = resolve("tools/openapi-linters/node_modules");
/** They must not send requests. */
const QUIET = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
/** Schemas, including those without a name. */
const MAX_MODELS = 200;

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

/** Requests that are refused before a route is chosen, and the status of the refusal. */
const EARLY: Readonly<Record<string, readonly [status: number, (method: string, url: string) => string]>> = {
  "a query of 20 KB": [431, (method, url) => `${method} ${url}?tickers=${"A".repeat(20_000)} HTTP/1.1\r\n`],
  "a header over 16 KiB": [
    431,
    (method, url) => `${method} ${url} HTTP/1.1\r\nX-Long: ${"A".repeat(20_000)}\r\n`,
  ],
  "a header without a colon": [400, (method, url) => `${method} ${url} HTTP/1.1\r\nbad header\r\n`],
  "a broken %-encoding": [400, (method, url) => `${method} ${url}%zz HTTP/1.1\r\n`],
  "an expectation that is not 100-continue": [
    417,
    (method, url) => `${method} ${url} HTTP/1.1\r\nExpect: 200-ok\r\n`,
  ],
};

/** The service's answer to these bytes, after which it closes the connection. */
async function answerTo(port: number, head: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(`${head}Host: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`);
  return text(socket);
}

describe("the OpenAPI document of a service", { timeout: 600_000 }, () => {
  let service: Serving;
  let folder: string;
  let document: OpenApiDocument;
  before(async () => {
    service = await startServe();
    folder = join(service.folder, "openapi");
    await mkdir(folder);
    document = (await (await fetch(`${service.url}/openapi.json`)).json()) as OpenApiDocument;
    assert.deepEqual(document.servers, [{ url: service.url }]);
    await writeFile(join(folder, "openapi.json"), JSON.stringify(document));
  });
  after(endServices);

  test("has neither errors nor warnings by Redocly's rules", async () => {
    const linter = join(LINTERS, "@redocly/cli/bin/cli.js");
    const args = ["lint", "--extends", "recommended", "--format", "json", "openapi.json"];
    const { stdout, stderr } = await run(process.execPath, [linter, ...args], folder);
    const said = jsonOf<{ problems: readonly unknown[] }>(stdout, stderr);
    assert.deepEqual(said.problems, []);
  });

  test("has neither errors nor warnings by Spectral's rules", async () => {
    await writeFile(join(folder, "spectral.json"), JSON.stringify({ extends: ["spectral:oas"] }));
    const linter = join(LINTERS, "@stoplight/spectral-cli/dist/index.js");
    const args = ["lint", "--ruleset", "spectral.json", "--format", "json", "--quiet"];
    const { stdout, stderr } = await run(process.execPath, [linter, ...args, "openapi.json"], folder);
    assert.deepEqual(jsonOf(stdout, stderr), []);
  });

  for (const [what, [status, head]] of Object.entries(EARLY)) {
    test(`lists for each operation the answer to ${what}`, async () => {
      for (const [path, methods] of Object.entries(document.paths)) {
        for (const [method, { responses }] of Object.entries(methods)) {
          const where = `${method} ${path}`;
          const url = path.replace(/\{\w+\}/, "feature_engine_a.json");
          const answer = await answerTo(service.port, head(method.toUpperCase(), url));
          assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), where);
          assert.ok(responses[String(status)], `${where} does not name ${status}`);
        }
      }
    });
  }

  test("generates a Python client that runs a job: uploads, submits, follows and reads mu", async () => {
    const python = lockedPython("openapi-client", "test/openapi/requirements-client.txt");
    const config = "client.yaml";
    await writeFile(join(folder, config), "package_name_override: mucast_client\npost_hooks: []\n");
    const generated = await run(
      python,
      [
        "-m",
        "openapi_python_client",
        "generate",
        "--path",
        "openapi.json",
        "--config",
        config,
        "--meta",
        "none",
        "--fail-on-warning",
      ],
      folder,
    );
    assert.equal(generated.code, 0, `${generated.stdout}\n${generated.stderr}`);
    const models = globSync("mucast_client/models/[a-z]*.py", { cwd: folder }).length;
    assert.ok(models > 50 && models <= MAX_MODELS, `${models} files of models`);

    const program = resolve("test/openapi/run_job.py");
    const { code, stdout, stderr } = await run(
      python,
      [program, folder, service.url, resolve("test/cases/tiny/data")],
      folder,
    );
    assert.equal(code, 0, stderr);
    const { events, output_name, mu } = JSON.parse(stdout);
    assert.deepEqual([events.at(0), events.at(-1)], ["queued", "succeeded"]);
    const output = await (await fetch(`${service.url}/data/${output_name}`)).json();
    assert.deepEqual(mu, (output as { mu: unknown }).mu);
  });
});

/** A linter's output as JSON, even if it is only an empty list. */
function jsonOf<T>(stdout: string, stderr: string): T {
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`${stdout}\n${stderr}\n\nnpm run setup -- --dev installs the linters`);
  }
}
