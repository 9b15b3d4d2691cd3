import type { Command } from "commander";
import { jsonSchema, PUBLISHED_SCHEMAS, type SchemaName } from "../contract/api/published-schemas.ts";
import { EXAMPLE_CONFIGS, exampleConfigText } from "../contract/config/example-configs.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { nearestName } from "../contract/errors/nearest-name.ts";
import { addCommand } from "./command.ts";

/** Adds the commands that print a file of the package, or the list of them. */
export function addPrintedFiles(program: Command): void {
  const examples = EXAMPLE_CONFIGS.map(({ name }) => name);
  addCommand(program, "examples", {
    about: "print a config to start with, or list all of them",
    argument: ["[name]", examples.join(", ")],
    help: "\nExample:\n  mucast examples pooled-lightgbm > config.json",
    run: (_flags, name) => {
      const width = Math.max(...examples.map(({ length }) => length));
      const lines = EXAMPLE_CONFIGS.map(
        (known) => `${known.name.padEnd(width)}  ${known.operation}  ${known.summary}\n`,
      );
      const found = EXAMPLE_CONFIGS.find((known) => known.name === name);
      if (name !== undefined && found === undefined) throw unknownName("example", name, examples);
      process.stdout.write(found === undefined ? lines.join("") : exampleConfigText(found));
    },
  });
  const schemas = Object.keys(PUBLISHED_SCHEMAS) as SchemaName[];
  addCommand(program, "schema", {
    about: "print a published JSON Schema, or list all of them",
    argument: ["[name]", schemas.join(", ")],
    help: "\nExample:\n  mucast schema output-blob > output-blob.schema.json",
    run: (_flags, name) => {
      const found = schemas.find((known) => known === name);
      if (name !== undefined && found === undefined) throw unknownName("schema", name, schemas);
      const text = found === undefined ? schemas.join("\n") : JSON.stringify(jsonSchema(found), null, 2);
      process.stdout.write(`${text}\n`);
    },
  });
}

function unknownName(kind: string, name: string, accepted: readonly string[]): MucastError {
  const suggestion = nearestName(name, accepted);
  const message = `there is no ${kind} ${JSON.stringify(name)}; the names are ${accepted.join(", ")}`;
  const data = { path: "name", value: name, accepted, ...(suggestion === undefined ? {} : { suggestion }) };
  return new MucastError("invalid_request", message, data);
}
