import { z } from "zod";
import type { FormSchemas, ModelParameter } from "../../../contract/api/published-schemas.ts";
import { EXAMPLE_CONFIGS } from "../../../contract/config/example-configs.ts";
import { inWords, type Parameter, parametersOf } from "../../../contract/model-params/catalogue.ts";
import { findModel, MODEL_NAMES, MODELS, type Model } from "../../../contract/model-params/models.ts";
import { asksForGpu, refusalReason } from "../../../contract/model-params/refused-arguments.ts";
import { JOB_PAYLOADS } from "../openapi/body-schemas.ts";

/** The data from which the console builds its forms, as JSON text. */
export function formSchemasText(): string {
  const payloads = Object.entries(JOB_PAYLOADS).map(([name, schema]) => [
    name,
    z.toJSONSchema(schema, { io: "input" }),
  ]);
  const schemas: FormSchemas = {
    payloads: Object.fromEntries(payloads),
    models: Object.fromEntries(MODEL_NAMES.map((name) => [name, findModel(name).name])),
    parameters: Object.fromEntries(MODELS.map((model) => [model.name, offered(model)])),
    examples: EXAMPLE_CONFIGS,
  };
  return JSON.stringify(schemas);
}

/** The parameters of a model that a config may set. */
function offered({ name, library }: Model): ModelParameter[] {
  const isOffered = ({ name: own }: Parameter) =>
    refusalReason(library, own, own, false) === undefined && !asksForGpu(library, own, "any value", false);
  return [...parametersOf(name).byName.values()].filter(isOffered).map((parameter) => ({
    name: parameter.name,
    takes: parameter.types === undefined ? "" : inWords(parameter.types),
    choices: parameter.choices ?? [],
    byDefault: parameter.default === null ? null : JSON.stringify(parameter.default),
  }));
}
