import type { Command } from "commander";
import { EXAMPLE_CONFIGS, exampleConfigText } from "../contract/config/example-configs.ts";
import { entryNamed } from "./arguments/known-name.ts";

const BY_NAME = new Map(EXAMPLE_CONFIGS.map((example) => [example.name, example]));

export function addExamples(program: Command): void {
  program
    .command("examples")
    .description("print a config to start with, or list all of them")
    .argument("[name]", [...BY_NAME.keys()].join(", "))
    .addHelpText("after", "\nExample:\n  mucast examples pooled-lightgbm > config.json")
    .action((name?: string) => {
      process.stdout.write(
        name === undefined ? listText() : exampleConfigText(entryNamed("example", name, BY_NAME)),
      );
    });
}

/** One line for each example: its name, its job and what it trains. */
function listText(): string {
  const width = Math.max(...EXAMPLE_CONFIGS.map(({ name }) => name.length));
  const lines = EXAMPLE_CONFIGS.map(
    ({ name, operation, summary }) => `${name.padEnd(width)}  ${operation}  ${summary}`,
  );
  return `${lines.join("\n")}\n`;
}
