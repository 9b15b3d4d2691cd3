import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Parameter, parametersOf } from "./catalogue.ts";
import { MODELS, type Model } from "./models.ts";
import { asksForGpu, refusalReason } from "./refused-arguments.ts";
import { ruleNames, valueRule } from "./value-rules.ts";

/** Whether only the default is ever passed on. */
function isRefused({ library }: Model, name: string): boolean {
  const isOfGpu = ["gpu", "any"].every((value) => asksForGpu(library, name, value, false));
  return isOfGpu || refusalReason(library, name, name, false) !== undefined;
}

/** Whether a value can be neither a list, an object, free text nor a whole number, which might be a column's. */
function isPlain({ types, choices }: Parameter): boolean {
  if (types === undefined) return false;
  const plain = ["null", "bool", "float", "number_text", ...(choices ? ["string"] : [])];
  return types.every((type) => plain.includes(type) || (type === "int" && types.includes("float")));
}

describe("how a value is checked", () => {
  for (const model of MODELS) {
    it(`has a rule for every parameter of ${model.name} that might refer to columns or rows`, () => {
      const without = [...parametersOf(model.name).byName.values()].filter(
        (parameter) =>
          !isRefused(model, parameter.name) &&
          !isPlain(parameter) &&
          !valueRule(model.library, parameter.name),
      );
      assert.deepEqual(
        without.map(({ name }) => name),
        [],
      );
    });
  }

  it("has no rule for a parameter that the catalogue lacks", () => {
    const libraries = Map.groupBy(MODELS, ({ library }) => library);
    for (const [library, models] of libraries) {
      const known = new Set(models.flatMap(({ name }) => [...parametersOf(name).byName.keys()]));
      const names = ruleNames(library);
      assert.ok(names.length > 5);
      assert.deepEqual(
        names.filter((name) => !known.has(name)),
        [],
      );
    }
  });
});
