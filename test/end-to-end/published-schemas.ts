/** The published JSON Schemas as checks. */
import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import { jsonSchema, type SchemaName } from "../../src/contract/schemas.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });

/** Asserts that `value` is what the published schema says. */
export function assertValid(name: SchemaName, value: unknown): void {
  const validate = ajv.getSchema(name) ?? ajv.addSchema(jsonSchema(name), name).getSchema(name)!;
  assert.ok(validate(value), `${name}: ${ajv.errorsText(validate.errors)}`);
}
