import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { settingNames, settingsSchema } from "../contract/settings.ts";
import { SETTINGS_FILE } from "../service/settings/load-settings.ts";
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

test("each command has a help of its own that says what it does", () => {
  for (const command of commands) assert.notEqual(command.description(), "", command.name());
});

test("serve takes the flag of every setting that has one, and the settings file", () => {
  const flags = Object.values(settingsSchema.shape).flatMap((field) => settingNames.get(field)?.flag ?? []);
  const serve = commands.find((command) => command.name() === "serve")!;
  assert.deepEqual(
    serve.options.map(({ long }) => long),
    [...flags, SETTINGS_FILE.flag],
  );
});
