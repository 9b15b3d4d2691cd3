import type { FormSchemas } from "../../contract/api/published-schemas.ts";
import type { SubmittedOperation } from "../../contract/config/job-operations.ts";

/** The part of JSON Schema (draft 2020-12) that payloads use. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly enum?: readonly string[];
  /** Values that a form offers if the schema also accepts others. */
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}

let fetched: Promise<FormSchemas> | undefined;

/** Fetches them once. @throws TypeError if the service does not respond; the next call tries again. */
export function formSchemas(): Promise<FormSchemas> {
  fetched ??= fetchSchemas().catch((error: unknown) => {
    fetched = undefined;
    throw error;
  });
  return fetched;
}

/** The schema of an operation's payload. */
export function payloadSchema({ payloads }: FormSchemas, operation: SubmittedOperation): JsonSchema {
  return payloads[operation] as JsonSchema;
}

async function fetchSchemas(): Promise<FormSchemas> {
  const response = await fetch(new URL("./forms.json", import.meta.url));
  if (!response.ok) throw new TypeError(`forms.json answered ${response.status}`);
  return (await response.json()) as FormSchemas;
}
