/** The code blocks of README.md and docs/, unchanged: compiled, and run against one service. */
import assert from "node:assert/strict";
import { dirname, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { clientEnvironment } from "../../scripts/locked-python.ts";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { endServices, type Serving, startServe } from "../service/service.testing.ts";
import { CHECKS, type Check } from "./checks.testing.ts";
import { type CodeBlock, placeOf } from "./code-blocks.testing.ts";
import { blocksBy, printedBy } from "./entries.testing.ts";
import { assertPrinted, idsOf } from "./printed.testing.ts";
import { type CommandResult, ScratchCheckout } from "./scratch-checkout.testing.ts";

const ADDRESS = "http://127.0.0.1:8080";

describe("the docs in a checkout", { timeout: 600_000 }, () => {
  let checkout: ScratchCheckout;
  let service: Serving;
  /** Ids that a page shows, and their values here. */
  const ids = new Map<string, string>();
  before(async () => {
    checkout = await ScratchCheckout.make();
    service = await startServe();
  });
  after(async () => {
    await endServices();
    await checkout[Symbol.asyncDispose]();
  });

  test("programs compile, strictly", async () => {
    const files = await Promise.all(
      blocksBy("program").map(async ({ block, check }) => {
        const file = check.file.replace(/\.(\w+)$/, ".compiled.mts");
        await checkout.write(file, `${check.before}\n${block.text}`);
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

  test("shell and Python code that cannot be run here has no syntax error", async () => {
    for (const { block } of blocksBy("syntax"))
      succeeded(await checkout.run("sh", ["-n", "-c", block.text]), placeOf(block));
    const { python } = findEnvironment("ml");
    for (const { block } of blocksBy("python")) {
      const compile = "import sys; compile(sys.argv[1], 'docs', 'exec')";
      succeeded(await checkout.run(python, ["-c", compile, block.text]), placeOf(block));
    }
  });

  test("the service describes itself as shown", () => {
    for (const { block } of blocksBy("service")) {
      assert.equal(block.text, "npm run --silent mucast -- serve\n");
      const shown = printedBy(block);
      if (shown === undefined) continue;
      const said = service.logs().replaceAll(/^\{.*\n/gm, "");
      assertPrinted(shown.text, said.replaceAll(service.url, ADDRESS), placeOf(shown));
    }
  });

  for (const page of new Set(CHECKS.map(([page]) => page))) {
    const programs = blocksBy("program").filter(({ block }) => block.page === page);
    const commands = blocksBy("shell").filter(({ block }) => block.page === page);
    if (programs.length + commands.length === 0) continue;

    test(`${page} runs unchanged, and prints what it shows`, async () => {
      for (const { block, check } of programs)
        await checkout.write(check.file, here(`${check.before}\n${block.text}`));
      for (const { block, check } of blocksBy("python")) {
        if (block.page === page && check.file !== undefined)
          await checkout.write(check.file, here(block.text));
      }
      for (const { block, check } of commands) await runCommand(block, check);
      const named = commands.map(({ block }) => block.text).join("");
      for (const { block, check } of programs) {
        if (named.includes(` ${check.file}\n`)) continue;
        succeeded(await checkout.run("npm", ["run", "--silent", "node", "--", check.file]), placeOf(block));
      }
    });
  }

  async function runCommand(block: CodeBlock, { folder, files }: Check & { by: "shell" }): Promise<void> {
    for (const [file, content] of Object.entries(files?.() ?? {})) await checkout.write(file, content);
    // A reader's replacement for an omitted part of a name.
    const command = here(block.text).replaceAll("…", "*");
    const env = command.startsWith("python ") ? withPythonClient() : {};
    const { stdout } = succeeded(
      await checkout.run("sh", ["-e", "-c", command], folder, env),
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

/** The variables of a reader who has installed the Python client. */
function withPythonClient(): Readonly<Record<string, string>> {
  const bin = dirname(clientEnvironment());
  return { PATH: `${bin}:${process.env.PATH}`, PYTHONPATH: resolve("clients/python") };
}

function succeeded(said: CommandResult, place: string): CommandResult {
  assert.equal(said.code, 0, `${place}:\n${said.stdout}\n${said.stderr}`);
  return said;
}
