import { existsSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { MucastError } from "../contract/errors/errors.ts";
import { causeOf } from "../contract/errors/system-error.ts";

export interface FoundOutput {
  readonly path: string;
  /** When the file was written, milliseconds since 1970. */
  readonly writtenAt: number;
}

/** Names of outputs, and of feature blobs of `prepare`. */
const OUTPUT_NAME = /^(ml|nn)_engine_.+\.json$/;
const FEATURES_NAME = /^feature_engine_.+\.(json|parquet)$/;

/**
 * Outputs in a folder, in its `data` folder, where jobs write them, and in that of `mucast forecast`, newest first.
 * @throws MucastError invalid_request if there is no such folder.
 */
export async function findOutputs(folder: string, names = OUTPUT_NAME): Promise<readonly FoundOutput[]> {
  const within = [join(folder, "data"), join(folder, "forecasts/data")];
  const paths: string[] = [];
  for (const place of [folder, ...within.filter(isFolder)]) {
    const entries = await readdir(place, { withFileTypes: true }).catch((cause: unknown) => {
      const message = `${resolve(place)} cannot be listed: ${causeOf(cause)}`;
      throw new MucastError("invalid_request", message, { path: "folder", value: place }, { cause });
    });
    const found = entries.filter((entry) => entry.isFile() && names.test(entry.name));
    paths.push(...found.map(({ name }) => join(place, name)));
  }
  return paths
    .flatMap((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found === undefined ? [] : [{ path, writtenAt: found.mtimeMs }];
    })
    .sort((a, b) => b.writtenAt - a.writtenAt || (a.path < b.path ? -1 : 1));
}

/** @throws MucastError invalid_request if the folder has none; of `findOutputs`. */
export async function newestOutput(folder: string): Promise<string> {
  const [newest] = await findOutputs(folder);
  if (newest !== undefined) return newest.path;
  const message = `${resolve(folder)} has no output: no file ml_engine_*.json or nn_engine_*.json in it, in data or in forecasts/data`;
  const advice = "Run a job first, or name the folder of its output.";
  throw new MucastError("invalid_request", message, { path: "output", value: folder, advice });
}

/** The newest feature blob with its data-extraction blob beside it. @throws like `newestOutput`. */
export async function newestPair(folder: string): Promise<{ features: string; prices: string }> {
  for (const { path: features } of await findOutputs(folder, FEATURES_NAME)) {
    const prices = join(dirname(features), basename(features).replace("feature_engine", "data_extractor"));
    if (existsSync(prices)) return { features, prices };
  }
  const message = `${resolve(folder)} has no pair of blobs feature_engine_ID and data_extractor_ID in it, in data or in forecasts/data`;
  const advice = "Name the --out folder of `mucast prepare`, or both blobs.";
  throw new MucastError("invalid_request", message, { path: "--feature-url", value: folder, advice });
}

export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // What reads the path says what is wrong.
    return false;
  }
}
