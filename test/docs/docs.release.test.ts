/** The code blocks of README.md and docs/, unchanged: compiled, and run against one service. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { clientEnvironment } from "../../scripts/locked-python.ts";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { endServices, type Serving, startServe } from "../service/service.testing.ts";
import { type CodeBlock, codeBlocks, placeOf } from "./code-blocks.testing.ts";
import { assertPrinted, idsOf } from "./printed.testing.ts";
import { type CommandResult, ScratchCheckout } from "./scratch-checkout.testing.ts";

const ADDRESS = "http://127.0.0.1:8080";

const BLOCKS = codeBlocks();
const PROGRAMS = BLOCKS.filter(({ words, language }) => words.file !== undefined && language !== "python");

/** What stands for the reader's own code before a program. */
const BEFORE: Readonly<Record<string, string>> = {
  "proofs.mjs": `
    import { MucastClient } from "mucast/client";
    const client = new MucastClient({ baseUrl: "${ADDRESS}" });
    const payload = {
      feature_url: "${ADDRESS}/data/feature_engine_sp500.parquet",
      data_extractor_url: "${ADDRESS}/data/data_extractor_sp500.parquet",
      config: { "ML params": { model: "ridge", n_splits: 2, cv_test_size: 3 } },
    };
    const operation = await client.runAndWait("run_ml_job", payload);
  `,
  "curves.mjs": `
    import { MucastClient } from "mucast/client";
    const client = new MucastClient({ baseUrl: "${ADDRESS}" });
    const { operations } = await client.listOperations({ limit: 1 });
    const id = operations.map((operation) => operation.id).join();
    const draw = console.log;
  `,
  "verify.mjs": `
    import { Webhook as Sender } from "standardwebhooks";
    const secret = "whsec_dHdlbnR5LWZvdXIgYnl0ZXMsIG9yIG1vcmU=";
    const sent = JSON.stringify({ type: "mucast.operation.succeeded" });
    const headers = {
      "webhook-id": "1",
      "webhook-timestamp": String(Math.floor(Date.now() / 1_000)),
      "webhook-signature": new Sender(secret).sign("1", new Date(), sent),
    };
    const request = new Request("https://optimizer.example.com/hooks", { method: "POST", body: sent, headers });
  `,
};

describe("the docs in a checkout", { timeout: 600_000 }, () => {
  let checkout: ScratchCheckout;
  let service: Serving;
  /** Ids that a page shows, and their values here. */
  const ids = new Map<string, string>();
  before(async () => {
    checkout = await ScratchCheckout.make();
    await checkout.write("prices.csv", ownPrices());
    service = await startServe();
  });
  after(async () => {
    await endServices();
    await checkout[Symbol.asyncDispose]();
  });

  test("programs compile, strictly", async () => {
    const files = await Promise.all(
      PROGRAMS.map(async ({ words, text }) => {
        const file = words.file!.replace(/\.(\w+)$/, ".compiled.mts");
        await checkout.write(file, `${BEFORE[words.file!] ?? ""}\n${text}`);
        return file;
      }),
    );
    const compilerOptions = { customConditions: ["mucast-source"], noUnusedLocals: false };
    const config = { extends: "./tsconfig.json", compilerOptions, include: [], files };
    await checkout.write("tsconfig.docs.json", JSON.stringify(config));
    const compiler = resolve("node_modules/typescript/bin/tsc");
    succeeded(
      await checkout.run(process.execPath, [compiler, "-p", "tsconfig.docs.json", "--checkers", "1"]),
      "tsc",
    );
  });

  test("shell and Python code has no syntax error", async () => {
    const { python } = findEnvironment("ml");
    for (const block of BLOCKS) {
      const compile = "import sys; compile(sys.argv[1], 'docs', 'exec')";
      if (block.language === "sh")
        succeeded(await checkout.run("sh", ["-n", "-c", block.text]), placeOf(block));
      if (block.language === "python")
        succeeded(await checkout.run(python, ["-c", compile, block.text]), placeOf(block));
    }
  });

  test("the service describes itself as shown", () => {
    const block = BLOCKS.find(({ words }) => words.serve !== undefined)!;
    assert.equal(block.text, "npm run --silent mucast -- serve\n");
    const said = service.logs().replaceAll(/^\{.*\n/gm, "");
    assertPrinted(printedBy(block)!.text, said.replaceAll(service.url, ADDRESS), placeOf(block));
  });

  for (const page of new Set(BLOCKS.map((block) => block.page))) {
    const files = BLOCKS.filter((block) => block.page === page && block.words.file !== undefined);
    const commands = BLOCKS.filter((block) => block.page === page && block.words.run !== undefined);
    if (files.length + commands.length === 0) continue;

    test(`${page} runs unchanged, and prints what it shows`, async () => {
      for (const { words, text } of files)
        await checkout.write(words.file!, here(`${BEFORE[words.file!] ?? ""}\n${text}`));
      for (const block of commands) await runCommand(block);
      const named = commands.map(({ text }) => text).join("");
      for (const block of files) {
        const { file } = block.words;
        if (named.includes(` ${file}\n`)) continue;
        succeeded(await checkout.run("npm", ["run", "--silent", "node", "--", file!]), placeOf(block));
      }
    });
  }

  async function runCommand(block: CodeBlock): Promise<void> {
    // A reader's replacement for an omitted part of a name.
    const command = here(block.text).replaceAll("…", "*");
    const env = command.startsWith("python ") ? withPythonClient() : {};
    const { stdout } = succeeded(
      await checkout.run("sh", ["-e", "-c", command], block.words.in, env),
      placeOf(block),
    );
    const shown = printedBy(block);
    if (shown === undefined) return;
    const printed = stdout.replaceAll(service.url, ADDRESS);
    assertPrinted(shown.text, printed, placeOf(shown));
    const [there, real] = idsOf(shown.text, printed) ?? [];
    if (there !== undefined) ids.set(there, real!);
  }

  /** With the address and the ids that it has here. */
  function here(text: string): string {
    let made = text.replaceAll(ADDRESS, service.url);
    for (const [shown, real] of ids) made = made.replaceAll(shown, real);
    return made;
  }
});

/** The output that follows a block that is run. */
function printedBy(block: CodeBlock): CodeBlock | undefined {
  const next = BLOCKS[BLOCKS.indexOf(block) + 1];
  return next?.page === block.page && next.language === "" ? next : undefined;
}

/** The dates and 30 tickers of the demo. */
function ownPrices(): string {
  const lines = gunzipSync(readFileSync("examples/sp500-200/prices.csv.gz")).toString().split("\n");
  return lines.map((line) => line.split(",", 31).join(",")).join("\n");
}

/** The variables of a reader who has installed the Python client. */
function withPythonClient(): Readonly<Record<string, string>> {
  const bin = dirname(clientEnvironment());
  return { PATH: `${bin}:${process.env.PATH}`, PYTHONPATH: resolve("clients/python") };
}

function succeeded(said: CommandResult, place: string): CommandResult {
  assert.equal(said.code, 0, `${place}:\n${said.stdout}\n${said.stderr}`);
  return said;
}
