import { existsSync, globSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { MucastError } from "../contract/errors/errors.ts";

export interface FoundOutput {
  readonly path: string;
  /** When the file was written, milliseconds since 1970. */
  readonly writtenAt: number;
}

/** Names of outputs, and of feature blobs of `prepare`. */
const OUTPUT_NAME = /^(ml|nn)_engine_.+\.json$/;
const FEATURES_NAME = /^feature_engine_.+\.(json|parquet)$/;

/** Where jobs write below a folder, or below the --out folder of `prepare` or `forecast` in it. */
const PLACES = ["*", "data/*", "*/data/*"];

/** Outputs in a folder and its places, newest first. @throws MucastError invalid_request if there is no such folder. */
export async function findOutputs(folder: string, names = OUTPUT_NAME): Promise<readonly FoundOutput[]> {
  if (!isFolder(folder)) {
    const message = `${resolve(folder)} cannot be listed: it is not a folder`;
    throw new MucastError("invalid_request", message, { path: "folder", value: folder });
  }
  return globSync(PLACES, { cwd: folder })
    .filter((path) => names.test(basename(path)))
    .flatMap((name) => {
      const path = join(folder, name);
      const state = statSync(path, { throwIfNoEntry: false });
      return state?.isFile() ? [{ path, writtenAt: state.mtimeMs }] : [];
    })
    .sort((a, b) => b.writtenAt - a.writtenAt || (a.path < b.path ? -1 : 1));
}

/** @throws MucastError invalid_request if the folder has none; of `findOutputs`. */
export async function newestOutput(folder: string): Promise<string> {
  const [newest] = await findOutputs(folder);
  if (newest !== undefined) return newest.path;
  const message = `${resolve(folder)} has no output: no file ml_engine_*.json or nn_engine_*.json in it, data or */data`;
  const advice = "Run a job first, or name the folder of its output.";
  throw new MucastError("invalid_request", message, { path: "output", value: folder, advice });
}

/** The newest feature blob with its data-extraction blob beside it. @throws like `newestOutput`. */
export async function newestPair(folder: string): Promise<{ features: string; prices: string }> {
  for (const { path: features } of await findOutputs(folder, FEATURES_NAME)) {
    const prices = join(dirname(features), basename(features).replace("feature_engine", "data_extractor"));
    if (existsSync(prices)) return { features, prices };
  }
  const message = `${resolve(folder)} has no pair of blobs feature_engine_ID and data_extractor_ID in it, data or */data`;
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
