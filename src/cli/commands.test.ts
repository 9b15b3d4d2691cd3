import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { settingNames, settingsSchema } from "../contract/settings.ts";
import { MUCAST_BUILD_TEXT, MUCAST_COMMIT, MUCAST_VERSION } from "../contract/version.ts";
import { createProgram } from "./commands.ts";

const { commands } = createProgram();

test("README.md has a row for each command, in the order of the help", () => {
  const rows = readFileSync(new URL("../../README.md", import.meta.url), "utf8").matchAll(
    /^\| `mucast (\w+)` \|/gm,
  );
  assert.deepEqual(
    [...rows].map(([, name]) => name),
    commands.map((command) => command.name()),
  );
});

test("the version names the commit, as in 0.2.0 (1a2b3c4)", () => {
  const text = createProgram().version();
  assert.equal(text, `mucast ${MUCAST_BUILD_TEXT}`);
  const commit = MUCAST_COMMIT === undefined ? /^$/ : /^ \([0-9a-f]{7}(-dirty)?\)$/;
  assert.match(text.slice(`mucast ${MUCAST_VERSION}`.length), commit);
});

test("serve accepts the flag of every setting that has one, and the settings file", () => {
  const flags = Object.values(settingsSchema.shape).flatMap((field) => settingNames.get(field)?.flag ?? []);
  const serve = commands.find((command) => command.name() === "serve")!;
  assert.deepEqual(
    serve.options.map(({ long }) => long),
    [...flags, "--settings"],
  );
});

test("the error of a misspelt flag suggests the nearest one, and says how to get help", async () => {
  let told = "";
  const program = createProgram();
  program.commands
    .find((command) => command.name() === "run_ml_job")!
    .configureOutput({
      writeErr: (text) => {
        told += text;
      },
    });
  const words = ["node", "mucast", "run_ml_job", "--feature-urls", "x"];
  await assert.rejects(program.parseAsync(words), { code: "commander.unknownOption" });
  assert.match(told, /unknown option '--feature-urls'\s+\(Did you mean --feature-url\?\)\s+Run with --help/);
});

for (const [words, told] of [
  [["prepare", "--price", "x", "--out", "y"], /unknown option '--price'\s+\(Did you mean --prices\?\)/],
  [["report", "x", "--ot", "y"], /unknown option '--ot'\s+\(Did you mean --out\?\)/],
  [["prepare", "--out", "y"], /required option '--prices <file>' not specified\s+Run with --help/],
] as const) {
  test(`a required flag that is misspelt or missing: mucast ${words.join(" ")}`, async () => {
    let written = "";
    const program = createProgram();
    program.commands
      .find((command) => command.name() === words[0])!
      .configureOutput({
        writeErr: (text) => {
          written += text;
        },
      });
    await assert.rejects(program.parseAsync(["node", "mucast", ...words]), { name: "CommanderError" });
    assert.match(written, told);
  });
}
