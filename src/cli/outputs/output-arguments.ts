import { type Command, Option } from "commander";
import { filePath } from "../../blob/location.ts";
import { redactUrl } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { invalidRequest } from "../../contract/errors/faults.ts";
import { printable } from "../../contract/errors/wording.ts";
import { isFolder, newestOutput } from "../../outputs/find-outputs.ts";

/** The name of the newest output in the folder of outputs. */
const LATEST = "latest";

export interface OutputFlags {
  readonly output?: readonly string[];
}

const DESCRIPTION =
  "the output of a job: a path, a file:, https: or s3: URL, a folder for its newest output, or latest";

/** Lets a command take outputs as arguments, and also as `--output`. */
export function withOutputs(command: Command, description = DESCRIPTION): Command {
  return command
    .argument("[outputs...]", description)
    .addOption(new Option("--output <location...>", "the same as the arguments"));
}

/**
 * The locations of the outputs that a person named.
 * @throws MucastError invalid_request if none is named; of a folder without an output.
 */
export async function outputLocations(
  named: readonly string[],
  { output = [] }: OutputFlags,
): Promise<string[]> {
  const all = [...named, ...output];
  if (all.length === 0) {
    throw invalidRequest([{ path: "outputs", message: "is missing; name an output, a folder, or latest" }]);
  }
  return Promise.all(all.map((location) => outputLocation(location)));
}

/** @throws MucastError invalid_request if not exactly one is named; of a folder without an output. */
export async function oneOutput(named: readonly string[], flags: OutputFlags): Promise<string> {
  const locations = await outputLocations(named, flags);
  if (locations.length === 1) return locations[0]!;
  throw invalidRequest([{ path: "outputs", message: `has ${locations.length} outputs; name one` }]);
}

/** Says on stderr which outputs folders and `latest` stood for. */
export function nameFound(
  named: readonly string[],
  { output = [] }: OutputFlags,
  locations: readonly string[],
): void {
  const given = [...named, ...output];
  for (const [i, location] of locations.entries()) {
    if (location !== given[i])
      process.stderr.write(`${printable(given[i]!)}: the newest output is ${printable(location)}\n`);
  }
}

async function outputLocation(location: string): Promise<string> {
  const folder = namedFolder(location);
  return folder === undefined ? location : newestOutput(folder);
}

/** The folder that a location or `latest` names; undefined for a file, which may be called ./latest. */
export function namedFolder(location: string): string | undefined {
  if (location === LATEST) return outputFolder();
  const path = localPath(location);
  return path !== undefined && isFolder(path) ? path : undefined;
}

/**
 * Where jobs write outputs: the folder in BLOB_URL, or the current one.
 * @throws MucastError invalid_request if BLOB_URL is no folder of this machine, because another folder has other outputs.
 */
export function outputFolder(): string {
  const url = process.env.BLOB_URL;
  if (url === undefined || url === "") return ".";
  const path = localPath(url);
  if (path !== undefined) return path;
  const value = redactUrl(url);
  const message = `BLOB_URL is ${value}, which mucast does not list; name a folder or an output`;
  throw new MucastError("invalid_request", message, { path: "BLOB_URL", value });
}

/** Undefined for a URL that is not a file: URL. @throws MucastError invalid_request for an unusual file: URL. */
function localPath(location: string): string | undefined {
  if (/^file:/i.test(location)) return filePath(location);
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(location) ? undefined : location;
}
