import assert from "node:assert/strict";
import { test } from "node:test";
import type { MucastError } from "../errors/errors.ts";
import { parseDlSettings } from "./dl-settings.ts";
import { parseMlSettings } from "./ml-settings.ts";
import { REMOVED_SETTINGS } from "./parse-config.ts";

const CHOICE = { candidates: [{ model: "lasso" }] };
const CONFIGS = {
  "ML params": { model: "ridge", choice: CHOICE },
  "NN params": { "Dot prediction": { "current option": "mlp", refit_every: 21 } },
};

/** The settings of a job's config with one more setting. */
function settingsWith(path: readonly string[], value: unknown): unknown {
  const config = structuredClone(CONFIGS) as Record<string, unknown>;
  const section = path.slice(0, -1).reduce((inner, key) => inner[key] as typeof config, config);
  section[path.at(-1)!] = value;
  return (path[0] === "ML params" ? parseMlSettings : parseDlSettings)(JSON.stringify(config)).settings;
}

for (const { path, harmless, instead } of REMOVED_SETTINGS) {
  const name = `config.${path.join(".")}`;

  test(`${name} is refused with what to do instead, except the value that changes nothing`, () => {
    assert.deepEqual(settingsWith(path, harmless), settingsWith(path, undefined));
    assert.throws(
      () => settingsWith(path, "other"),
      ({ code, message }: MucastError) => {
        assert.equal(code, "invalid_request");
        assert.equal(message, `${name}: "other" was removed in 0.3.0 (see CHANGELOG.md); ${instead}`);
        return true;
      },
    );
  });
}
