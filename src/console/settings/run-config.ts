import type { OperationView } from "../../client/index.ts";
import type { FormSchemas } from "../../contract/api/published-schemas.ts";
import type { RawJson } from "../../contract/json/json-text.ts";
import { storedPayload } from "../forms/earlier-payload.ts";
import { readTree } from "../forms/fields/payload-tree.ts";
import { formSchemas } from "../forms/form-schemas.ts";
import type { ViewContext } from "../view.ts";
import { type Setting, settingsOf } from "./config-settings.ts";

/** What an operation was submitted with. */
export interface RunConfig {
  /** JSON text. */
  readonly text: string;
  readonly payload: RawJson;
  readonly settings: readonly Setting[];
  readonly schemas: FormSchemas;
}

/** Reads the payload of an operation; undefined if neither the service nor the output has it. */
export async function readRunConfig(
  operation: OperationView,
  context: ViewContext,
): Promise<RunConfig | undefined> {
  const [stored, schemas] = await Promise.all([storedPayload(operation, context), formSchemas()]);
  if (stored === undefined) return undefined;
  const payload = readTree(stored.text, "payload");
  return { text: stored.text, payload, schemas, settings: settingsOf(operation.operation, payload, schemas) };
}
