import { filePath } from "../blob/location.ts";
import { blobPolicy, redactUrl } from "../blob/policy.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { printable } from "../contract/errors/wording.ts";
import { isFolder, newestOutput, newestPair } from "../outputs/find-outputs.ts";
import type { Reading } from "../outputs/open-document.ts";
import { refusal } from "./command.ts";
import { untilSignal } from "./terminal/signals.ts";

/** For a command that takes outputs, as arguments or as `--output`. */
export const OUTPUTS_ARGUMENT = [
  "[outputs...]",
  "the output of a job: a path, a file:, https: or s3: URL, a folder for its newest output, or latest",
] as const;
export const OUTPUT_OPTION = {
  output: ["--output <location...>", "the same as the arguments"],
} as const;

/** How commands read outputs, until a signal. */
export function readUntilSignal<T>(
  read: (reading: Reading & { readonly signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const reading = { policy: blobPolicy(process.env), blobUrl: process.env.BLOB_URL };
  return untilSignal((signal) => read({ ...reading, signal }));
}

interface OutputFlags {
  readonly output: readonly string[] | undefined;
}

/**
 * The locations of the outputs that a person named. stderr says which outputs folders and `latest` stand for.
 * @throws MucastError invalid_request if none is named; of a folder without an output.
 */
export async function outputLocations(
  words: readonly string[],
  { output = [] }: OutputFlags,
): Promise<string[]> {
  const named = [...words, ...output];
  if (named.length === 0) {
    throw refusal("outputs", "is missing; name an output, a folder, or latest");
  }
  return Promise.all(
    named.map(async (location) => {
      const folder = namedFolder(location);
      if (folder === undefined) return location;
      const newest = await newestOutput(folder);
      process.stderr.write(`${printable(location)}: the newest output is ${printable(newest)}\n`);
      return newest;
    }),
  );
}

/** @throws MucastError invalid_request if not exactly one is named; like outputLocations. */
export async function oneOutput(words: readonly string[], flags: OutputFlags): Promise<string> {
  const locations = await outputLocations(words, flags);
  if (locations.length === 1) return locations[0]!;
  throw refusal("outputs", `has ${locations.length} outputs; name one`);
}

/**
 * Both inputs, with the newest pair of blobs in place of a folder and of `latest`. Without prices, they are those of the same folder.
 * @throws MucastError invalid_request for a folder without a pair.
 */
export async function inputLocations(
  features: string | undefined,
  prices: string | undefined,
): Promise<{ readonly features: string | undefined; readonly prices: string | undefined }> {
  const pairOf = async (location: string | undefined) => {
    const folder = location && namedFolder(location);
    return folder ? newestPair(folder) : undefined;
  };
  const [featured, priced] = [await pairOf(features), await pairOf(prices || features)];
  return { features: featured?.features ?? features, prices: priced?.prices ?? prices };
}

/** The folder that a location or `latest` names; undefined for a file, which may be called ./latest. */
function namedFolder(location: string): string | undefined {
  if (location === "latest") return outputFolder();
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
