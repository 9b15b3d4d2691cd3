import { Argument, type Command } from "commander";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

const HELP = `
Examples:
  source <(mucast completion bash)                                   # in ~/.bashrc
  source <(mucast completion zsh)                                    # in ~/.zshrc, after compinit
  mucast completion fish > ~/.config/fish/completions/mucast.fish

It completes commands, their flags and the values of flags that accept a few; anything else is a file.`;

export function addCompletion(program: Command): void {
  program
    .command("completion")
    .description("print a completion script for a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText("after", HELP)
    .action((shell: Shell) => {
      process.stdout.write(WRITERS[shell](program.commands.map(completed)));
    });
}

interface CompletedCommand {
  readonly name: string;
  readonly description: string;
  readonly flags: readonly CompletedFlag[];
  /** Subcommands, or the values of the first argument. */
  readonly words: readonly string[];
}

interface CompletedFlag {
  readonly flag: string;
  readonly description: string;
  /** Whether a value follows. */
  readonly takesValue: boolean;
  /** The values that it accepts; empty for any. */
  readonly choices: readonly string[];
}

function completed(command: Command): CompletedCommand {
  return {
    name: command.name(),
    description: command.description(),
    flags: command.options
      .filter((option) => option.long !== undefined && !option.hidden)
      .map(({ long, description, required, optional, argChoices = [] }) => ({
        flag: long!,
        description,
        takesValue: required || optional,
        choices: argChoices,
      })),
    words: [
      ...command.commands.map((sub) => sub.name()),
      ...(command.registeredArguments[0]?.argChoices ?? []),
    ],
  };
}

const WRITERS: Readonly<Record<Shell, (commands: readonly CompletedCommand[]) => string>> = {
  bash: (commands) => bashScript(commands),
  // zsh runs bash's completion functions.
  zsh: (commands) => `autoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`,
  fish: fishScript,
};

/** Names of commands, flags and values have no character that a shell treats as special; a test checks that. */
function bashScript(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  const cases = commands.map(({ name, flags, words }) => {
    const values = flags
      .filter(({ choices }) => choices.length > 0)
      .map(({ flag, choices }) => `        ${flag}) words="${choices.join(" ")}" ;;`);
    const files = flags
      .filter(({ choices, takesValue }) => takesValue && choices.length === 0)
      .map(({ flag }) => flag);
    return [
      `    ${name})`,
      '      case "$previous" in',
      ...values,
      ...(files.length === 0 ? [] : [`        ${files.join("|")}) words="" ;;`]),
      `        *) words="${[...words, ...flags.map(({ flag }) => flag), "--help"].join(" ")}" ;;`,
      "      esac ;;",
    ].join("\n");
  });
  return [
    "_mucast() {",
    `  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words=""`,
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    COMPREPLY=($(compgen -W "${names} --help --version" -- "$current"))`,
    "    return",
    "  fi",
    `  case "\${COMP_WORDS[1]}" in`,
    ...cases,
    "  esac",
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    "}",
    "complete -o default -F _mucast mucast",
    "",
  ].join("\n");
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = commands.flatMap(({ name, description, flags, words }) => {
    const seen = `complete -c mucast -n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c mucast -n __fish_use_subcommand -f -a ${name} -d ${quoted(description)}`,
      ...(words.length === 0 ? [] : [`${seen} -f -a '${words.join(" ")}'`]),
      ...flags.map(({ flag, description: what, takesValue, choices }) => {
        const value = takesValue ? ` -r${choices.length === 0 ? "" : ` -f -a '${choices.join(" ")}'`}` : "";
        return `${seen} -l ${flag.slice(2)}${value} -d ${quoted(what)}`;
      }),
    ];
  });
  return `${lines.join("\n")}\n`;
}
