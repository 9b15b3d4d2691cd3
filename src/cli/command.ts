import { type Command, Option } from "commander";
import type { z } from "zod";
import { DATE_FORMATS } from "../contract/config/input-formats.ts";
import { ENGINE_VARIABLES } from "../contract/engine-url.ts";
import type { MucastError } from "../contract/errors/errors.ts";
import { faultsOf, invalidRequest } from "../contract/errors/faults.ts";

/** The flags of an option, what it is for, and what commander must know beyond that. */
type OptionText = readonly [
  flags: string,
  description: string,
  more?: { readonly choices?: readonly string[]; readonly default?: unknown; readonly required?: true },
];

/** By the name that the command has for their value, such as the member of a payload. */
type Options = Readonly<Record<string, OptionText>>;

type ValueOf<O extends OptionText> = O extends readonly [...unknown[], { choices: readonly (infer C)[] }]
  ? C
  : O[0] extends `${string}...>`
    ? readonly string[]
    : O[0] extends `${string}>`
      ? string
      : true;

type IsGiven<O> = O extends readonly [...unknown[], { default: unknown } | { required: true }] ? true : false;

export type FlagsOf<T extends Options> = {
  readonly [K in keyof T]: ValueOf<T[K]> | (IsGiven<T[K]> extends true ? never : undefined);
};

/** What stands for `[outputs...]`, `[folder]` and `<id>`. */
type WordsOf<A extends string> = A extends `${string}...]`
  ? readonly string[]
  : A extends `[${string}`
    ? string | undefined
    : string;

interface CommandText<T extends Options, A extends string> {
  readonly about: string;
  readonly options?: T;
  readonly argument?: readonly [name: A, description: string, choices?: readonly string[]];
  /** Examples, and what stdout and stderr carry. */
  readonly help?: string;
  /** Gets undefined for flags that were not given. */
  readonly run: (flags: FlagsOf<T>, argument: WordsOf<A>) => void | Promise<void>;
}

export function addCommand<const T extends Options, A extends string>(
  program: Command,
  name: string,
  { about, options = {} as T, argument, help = "", run }: CommandText<T, A>,
): Command {
  const command = program.command(name).description(about).addHelpText("after", help);
  if (argument !== undefined) {
    const [word, description, choices] = argument;
    const made = command.createArgument(word, description);
    command.addArgument(choices === undefined ? made : made.choices(choices));
  }
  const known = Object.entries<OptionText>(options).map(([key, [flags, description, more = {}]]) => {
    const option = new Option(flags, description).default(more.default);
    if (more.choices !== undefined) option.choices(more.choices);
    command.addOption(option);
    return { key, flags, name: option.attributeName(), isRequired: more.required === true };
  });
  return command.action(async (...words) => {
    const values = command.opts();
    // Commander's own check of required options comes first and reports a misspelt one as missing, without the nearest name.
    const missing = known.find(({ isRequired, name }) => isRequired && values[name] === undefined);
    if (missing !== undefined) {
      const code = "commander.missingMandatoryOptionValue";
      command.error(`error: required option '${missing.flags}' not specified`, { code });
    }
    const given = Object.fromEntries(known.map(({ key, name }) => [key, values[name]]));
    await run(given as FlagsOf<T>, words[0] as WordsOf<A>);
  });
}

export function refusal(path: string, message: string): MucastError {
  return invalidRequest([{ path, message }]);
}

/**
 * The flags that are members of a payload.
 * @throws MucastError invalid_request that names every faulty flag.
 */
export function membersOf<S extends z.ZodObject>(
  schema: S,
  flags: Readonly<Record<string, unknown>>,
  options: Options,
): z.infer<S> {
  const members = Object.fromEntries(
    Object.keys(schema.shape).flatMap((key) => (flags[key] === undefined ? [] : [[key, flags[key]]])),
  );
  const parsed = schema.safeParse(members);
  if (parsed.success) return parsed.data;
  const toFlag = (path: string) =>
    path.replace(/^\.(\w+).*/, (_, key: string) => options[key]![0].replace(/ .*/, ""));
  const faults = faultsOf(parsed.error, schema, "", members);
  throw invalidRequest(faults.map((fault) => ({ ...fault, path: toFlag(fault.path) })));
}

export const ENGINE_OPTIONS = {
  engine: ["--engine <url>", `Ray cluster to use, ray://<host>:<port> [env: ${ENGINE_VARIABLES.url}]`],
  engine_insecure: [
    "--engine-insecure",
    `allow a local one without a token [env: ${ENGINE_VARIABLES.insecure}]`,
  ],
} as const;

export const REPORT_OPTIONS = {
  workers: ["--workers <n>", "number of parallel fits (default: one per core, or all slots of a cluster)"],
  log: ["--log <format>", "format of stderr", { choices: ["text", "json"], default: "text" }],
  quiet: ["--quiet", "hide progress; warnings and errors are still shown"],
} as const;

/** What the jobs take, and what reads the inputs of jobs. */
export const JOB_OPTIONS = {
  feature_url: [
    "--feature-url <location>",
    "feature blob: a path, a URL, or a folder or latest for its newest pair of blobs [env: FEATURE_URL]",
  ],
  data_extractor_url: [
    "--data-extractor-url <location>",
    "data-extraction blob, likewise (default: that of the pair) [env: DATA_EXTRACTOR_URL]",
  ],
  config: ["--config <file|json|name>", "a config: a file, JSON text or an example's name [env: CONFIG]"],
  blob_url: [
    "--blob-url <location>",
    "folder or container for the output (default: beside the feature blob) [env: BLOB_URL]",
  ],
  ...REPORT_OPTIONS,
  start: ["--start <date>", "first date of the window, if the data-extraction blob names none"],
  end: ["--end <date>", "last date of the window, likewise"],
  learning_end: ["--learning-end <date>", "last date whose labels may be learned, likewise"],
  ...ENGINE_OPTIONS,
} as const;

/** How a file of prices is read. */
export const PRICE_OPTIONS = {
  features: ["--features <file>", "features of your own, with one row per (date, ticker)"],
  tickers: ["--tickers <list>", "comma-separated tickers (default: all)"],
  ticker: ["--ticker <name>", "the security of a file without tickers"],
  timeZone: ["--time-zone <name>", "zone of times, such as Europe/Berlin"],
  dateFormat: ["--date-format <name>", "of dates such as 3/4/2020", { choices: DATE_FORMATS }],
} as const;

export const SETTINGS_OPTIONS = {
  data_dir: ["--data-dir <folder>", "folder of the database and the blobs [env: MUCAST_DATA_DIR]"],
  settings: ["--settings <file>", "settings as JSON; see docs/configuration.md [env: MUCAST_SETTINGS]"],
} as const;
