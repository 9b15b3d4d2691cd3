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

export function addCompletion(program: Command): void {
  addCommand(program, "completion", {
    about: "print a completion script for a shell",
    argument: ["<shell>", "the shell", ["bash", "zsh", "fish"]],
    help: `
Examples:
  source <(mucast completion bash)                                   # in ~/.bashrc
  source <(mucast completion zsh)                                    # in ~/.zshrc, after compinit
  mucast completion fish > ~/.config/fish/completions/mucast.fish

It completes commands, their flags and the values of flags that accept a few; anything else is a file.`,
    run: (_flags, shell) => {
      if (shell === "fish") process.stdout.write(fishScript(program.commands));
      // zsh runs bash's completion functions.
      if (shell === "zsh") process.stdout.write("autoload -U +X bashcompinit && bashcompinit\n");
      if (shell !== "fish") process.stdout.write(bashScript(program.commands));
    },
  });
}

function flagsOf(command: Command) {
  return command.options.map(({ long, description, required, argChoices = [] }) => {
    return { flag: long!, description, takesValue: required, choices: argChoices.join(" ") };
  });
}

function wordsOf({ commands, registeredArguments: [first] }: Command): readonly string[] {
  return commands.length > 0 ? commands.map((sub) => sub.name()) : (first?.argChoices ?? []);
}

/** Names of commands, flags and values have no character that a shell treats as special; a test checks that. */
function bashScript(commands: readonly Command[]): string {
  const cases = commands.flatMap((command) => {
    const flags = flagsOf(command);
    const values = flags.filter(({ takesValue }) => takesValue);
    const words = [...wordsOf(command), ...flags.map(({ flag }) => flag), "--help"];
    return [
      `    ${command.name()}) case "$previous" in`,
      ...values.map(({ flag, choices }) => `      ${flag}) words="${choices}" ;;`),
      `      *) words="${words.join(" ")}" ;;`,
      "    esac ;;",
    ];
  });
  return `_mucast() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map((command) => command.name()).join(" ")} --help --version"
  else case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
  esac; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _mucast mucast
`;
}

function fishScript(commands: readonly Command[]): string {
  const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = commands.flatMap((command) => {
    const name = command.name();
    const seen = `complete -c mucast -n '__fish_seen_subcommand_from ${name}'`;
    const words = wordsOf(command).join(" ");
    return [
      `complete -c mucast -n __fish_use_subcommand -f -a ${name} -d ${quoted(command.description())}`,
      ...(words === "" ? [] : [`${seen} -f -a '${words}'`]),
      ...flagsOf(command).map(({ flag, description, takesValue, choices }) => {
        const value = takesValue ? ` -r${choices === "" ? "" : ` -f -a '${choices}'`}` : "";
        return `${seen} -l ${flag.slice(2)}${value} -d ${quoted(description)}`;
      }),
    ];
  });
  return `${lines.join("\n")}\n`;
}
