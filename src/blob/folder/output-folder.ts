import { constants } from "node:fs";
import { access, lstat, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { nameTaken, outputFailed } from "../blob-errors.ts";
import { filePath, isUrl } from "../location.ts";
import { redactUrl, withoutSignature } from "../policy.ts";
import type { Content } from "../store.ts";
import { createFile } from "./staged-file.ts";

const DATA = "data";

/**
 * The absolute folder for an output: `data` under BLOB_URL if that is given (a path or a file: URL), else under the folder of the feature
 * file, or under that folder's parent if it is itself called `data`. Creates nothing.
 * @throws MucastError invalid_request if neither is a folder.
 */
export function resolveOutput(target: { blobUrl?: string | undefined; featureLocation: string }): string {
  const { blobUrl, featureLocation } = target;
  const [place, isFile] = blobUrl ? [blobUrl, false] : [featureLocation, true];
  if (isUrl(place) && !/^file:/i.test(place)) {
    const message = isFile
      ? "BLOB_URL must name a folder or a container for the output when the feature blob is read from a URL"
      : `BLOB_URL ${redactUrl(place)} is neither a folder nor a container`;
    throw new MucastError("invalid_request", message, { path: "BLOB_URL", value: redactUrl(place) });
  }
  // A URL without its https:// would name a folder after its SAS.
  if (!isFile && withoutSignature(place) !== place) {
    const message = `BLOB_URL ${redactUrl(place)} carries a SAS, which no folder has in its name`;
    throw new MucastError("invalid_request", message, { path: "BLOB_URL", value: redactUrl(place) });
  }
  const path = resolve(isUrl(place) ? filePath(place) : place);
  if (!isFile) return join(path, DATA);
  return basename(dirname(path)) === DATA ? dirname(path) : join(dirname(path), DATA);
}

/**
 * Checks early, before hours of training, whether an output can be written later: `checkFolder`, and the name is free.
 * @param shown the name of the output in errors; by default its path.
 * @throws MucastError output_failed.
 */
export async function checkOutput(
  folder: string,
  name: string,
  shown: string = join(folder, name),
): Promise<void> {
  await checkFolder(folder, shown);
  const found = await lstat(join(folder, name)).catch(() => undefined);
  if (found !== undefined) throw nameTaken(shown);
}

/**
 * Checks that a folder can be written to, or created in its nearest existing parent. Writes nothing.
 * @throws MucastError output_failed.
 */
export async function checkFolder(folder: string, shown: string = folder): Promise<void> {
  try {
    if (!(await stat(folder)).isDirectory()) throw outputFailed(shown, "a part of its path is not a folder");
    await access(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const isMissing = codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR";
    if (isMissing && dirname(folder) !== folder) return checkFolder(dirname(folder), shown);
    throw error instanceof MucastError ? error : outputFailed(shown, causeOf(error), error);
  }
}

/** Writes one output by `createFile`. @returns its file: URL. */
export async function writeOutput(
  folder: string,
  name: string,
  content: Content,
  options: { signal?: AbortSignal } = {},
): Promise<string> {
  const { target } = await createFile(folder, name, content, options);
  return pathToFileURL(target).href;
}
