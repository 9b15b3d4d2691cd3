import type { ExampleConfig } from "../config/example-configs.ts";
import type { SubmittedOperation } from "../config/job-operations.ts";

/** An argument of a model's constructor that a config may give. */
export interface ModelParameter {
  readonly name: string;
  /** A phrase such as `an integer or null`; empty if only a fit can tell. */
  readonly takes: string;
  readonly choices: readonly string[];
  /** The library's default as JSON text, which distinguishes `1.0` from `1`; null if it has no single value. */
  readonly byDefault: string | null;
}

/** The console's forms are made of this: what the service accepts, according to its own schemas. `forms.json` of the console. */
export interface FormSchemas {
  /** The JSON Schema of each operation's payload. */
  readonly payloads: Readonly<Record<SubmittedOperation, object>>;
  /** By every name of a model, including aliases: the name under which `parameters` lists it. */
  readonly models: Readonly<Record<string, string>>;
  /** By model: what `model_params` may contain. */
  readonly parameters: Readonly<Record<string, readonly ModelParameter[]>>;
  readonly examples: readonly ExampleConfig[];
}
