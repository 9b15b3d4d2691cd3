import assert from "node:assert/strict";
import { test } from "node:test";
import { settingNames, settingsSchema } from "./settings.ts";

const settings = Object.entries(settingsSchema.shape);

for (const [key, setting] of settings) {
  test(`${key} has a description, and either has a name in the environment or is only in the settings file`, () => {
    const names = settingNames.get(setting);
    assert.ok(setting.description, `settings.ts: ${key} has no describe()`);
    assert.ok(names !== undefined, `settings.ts: ${key} is not registered with settingNames`);
    const isInFileAlone = setting.description.includes("Only in the settings file.");
    assert.equal(names.env === undefined, isInFileAlone, `${key}: env`);
    assert.match(
      names.flag ?? `--${key.replaceAll("_", "-")}`,
      new RegExp(`^--${key.replaceAll("_", "-")}$`),
    );
  });
}

test("no two settings have the same name", () => {
  for (const kind of ["env", "flag"] as const) {
    const names = settings.map(([, setting]) => settingNames.get(setting)?.[kind]).filter(Boolean);
    assert.equal(new Set(names).size, names.length, kind);
  }
});
