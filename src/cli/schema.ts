import type { Command } from "commander";
import { jsonSchema, PUBLISHED_SCHEMAS, type SchemaName } from "../contract/api/published-schemas.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { nearestName } from "../contract/errors/nearest-name.ts";

const NAMES = Object.keys(PUBLISHED_SCHEMAS) as SchemaName[];

export function addSchema(program: Command): void {
  program
    .command("schema")
    .description("print a published JSON Schema; without a name, list them")
    .argument("[name]", NAMES.join(", "))
    .addHelpText("after", "\nExample:\n  mucast schema output-blob > output-blob.schema.json")
    .action((name?: string) => {
      process.stdout.write(name === undefined ? `${NAMES.join("\n")}\n` : schemaText(name));
    });
}

function schemaText(name: string): string {
  if (!NAMES.includes(name as SchemaName)) {
    const suggestion = nearestName(name, NAMES);
    throw new MucastError(
      "invalid_request",
      `no schema is called ${JSON.stringify(name)}; there are ${NAMES.join(", ")}`,
      {
        path: "name",
        value: name,
        accepted: NAMES,
        ...(suggestion === undefined ? {} : { suggestion }),
      },
    );
  }
  return `${JSON.stringify(jsonSchema(name as SchemaName), null, 2)}\n`;
}
