import type { Command } from "commander";
import { jsonSchema, PUBLISHED_SCHEMAS, type SchemaName } from "../contract/api/published-schemas.ts";
import { entryNamed } from "./arguments/known-name.ts";

const NAMES = Object.keys(PUBLISHED_SCHEMAS) as SchemaName[];
const BY_NAME = new Map(NAMES.map((name) => [name as string, name]));

export function addSchema(program: Command): void {
  program
    .command("schema")
    .description("print a published JSON Schema, or list all of them")
    .argument("[name]", NAMES.join(", "))
    .addHelpText("after", "\nExample:\n  mucast schema output-blob > output-blob.schema.json")
    .action((name?: string) => {
      process.stdout.write(name === undefined ? `${NAMES.join("\n")}\n` : schemaText(name));
    });
}

function schemaText(name: string): string {
  return `${JSON.stringify(jsonSchema(entryNamed("schema", name, BY_NAME)), null, 2)}\n`;
}
