import type { ExampleConfig } from "../config/example-configs.ts";
import type { SubmittedOperation } from "../config/job-operations.ts";

/** An argument of a model's constructor that a config may give. */
export interface ModelParameter {
  readonly name: string;
  /** In words, such as `an integer or null`; empty if only a fit can tell. */
  readonly takes: string;
  readonly choices: readonly string[];
  /** The library's default as JSON text, which keeps `1.0` apart from `1`; null if it has no single value. */
  readonly byDefault: string | null;
}

/** What the console makes its forms of: what the service takes, in the words of its own schemas. `forms.json` of the console. */
export interface FormSchemas {
  /** The JSON Schema of each operation's payload. */
  readonly payloads: Readonly<Record<SubmittedOperation, object>>;
  /** By every name of a model, aliases among them, the name by which `parameters` lists it. */
  readonly models: Readonly<Record<string, string>>;
  /** By model, what `model_params` may hold. */
  readonly parameters: Readonly<Record<string, readonly ModelParameter[]>>;
  readonly examples: readonly ExampleConfig[];
}
