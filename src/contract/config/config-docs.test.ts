/** docs/config.md names every setting of both jobs and every value of the contract's lists. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import type { z } from "zod";
import { unwrap } from "../errors/faults.ts";
import { MODELS } from "../model-params/models.ts";
import { dotPredictionSchema } from "./dl-settings.ts";
import { mlParamsSchema } from "./ml-settings.ts";
import { LOSS_TYPES, NETWORKS } from "./networks.ts";

const read = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8");
const page = read("config.md");
const [, mlPart, dlPart] = page.split(/^## Config of run_[md]l_job$/m);

/** The cells in the row of a key. */
function rowOf(part: string, key: string): string {
  const row = part.split("\n").find((line) => line.startsWith(`| \`${key}\` |`));
  assert.ok(row !== undefined, `docs/config.md has no row of \`${key}\``);
  return row;
}

/** Every setting by its path, except the entries of models_params. */
function* settingsIn(schema: z.ZodType, path: readonly string[] = []): Generator<[string, z.ZodType]> {
  const inner = unwrap(schema)!;
  const key = path.join(".");
  const shape = key === "models_params" ? undefined : (inner as z.ZodObject).shape;
  // A section has no row, except intervals, which can be omitted as a whole.
  if (path.length > 0 && (shape === undefined || key === "intervals")) yield [key, inner];
  for (const [name, field] of Object.entries(shape ?? {})) {
    if (name !== "test_size") yield* settingsIn(field, [...path, name]);
  }
}

function namesIn(part: string, key: string, names: readonly string[]) {
  const row = rowOf(part, key);
  for (const name of names) assert.ok(row.includes(`\`${name}\``), `the row of \`${key}\` lacks \`${name}\``);
}

for (const [job, schema, part] of [
  ["run_ml_job", mlParamsSchema, mlPart!],
  ["run_dl_job", dotPredictionSchema, dlPart!],
] as const) {
  describe(`docs/config.md, ${job}`, () => {
    for (const [key, field] of settingsIn(schema)) {
      // The rows of run_ml_job describe what is the same.
      if (job === "run_dl_job" && /^(intervals\.|shr|delay|target|cross|smoothing|choice\.[rms])/.test(key))
        continue;
      it(`has a row of ${key} with everything that it accepts`, () => {
        const { entries = {} } = field.def as { entries?: Record<string, string> };
        namesIn(part, key, Object.values(entries));
      });
    }
  });
}

describe("the docs", () => {
  it("name every model", () => {
    namesIn(
      mlPart!,
      "model",
      MODELS.map(({ name }) => name),
    );
    const table = read("model-params.md");
    const readme = read("../README.md");
    for (const { name, className } of MODELS) {
      const row = new RegExp(`^\\| \`${name}\`.*${className}\``, "m");
      assert.ok(row.test(table), `docs/model-params.md has no row of ${name} with ${className}`);
      assert.ok(readme.includes(name.replaceAll("_", " ")), `README.md lacks ${name.replaceAll("_", " ")}`);
    }
  });

  it("name every loss", () => {
    namesIn(dlPart!, "training_params.loss_type", LOSS_TYPES);
    const semantics = read("semantics.md");
    for (const loss of LOSS_TYPES) {
      const row = new RegExp(`^\\| ${loss} \\|`, "m");
      assert.ok(row.test(semantics), `docs/semantics.md has no row of ${loss}`);
    }
  });

  for (const [name, { entry }] of Object.entries(NETWORKS)) {
    it(`say how ${name} is built and what it accepts`, () => {
      const row = new RegExp(`^\\| \`${name}\` \\|`, "m");
      assert.ok(row.test(read("networks.md")), `docs/networks.md has no row of ${name}`);
      assert.ok(read("../README.md").includes(`\`${name}\``), `README.md lacks ${name}`);
      const table = dlPart!.slice(dlPart!.indexOf("| entry of `models_params` |"));
      const own = table.slice(table.indexOf(`\`${name}\``)).split(/\n(?!\| \|)/)[0]!;
      for (const key of Object.keys(entry.shape))
        assert.ok(own.includes(`\`${key}\``), `${name} lacks ${key}`);
    });
  }
});
