import { constants } from "node:fs";
import { access, lstat, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { nameTaken, outputFailed, throwIfAborted } from "../blob-errors.ts";
import { filePath, isUrl } from "../location.ts";
import { redactUrl, withoutSignature } from "../policy.ts";
import type { Content } from "../store.ts";
import { discardStaged, publishStaged, stageFile } from "./staged-file.ts";

const DATA = "data";

/**
 * The absolute folder for an output: `data` under BLOB_URL if that is given (a path or a file: URL), else under the folder of the feature
 * file, or under that folder's parent if it is itself called `data`. Creates nothing.
 * @throws MucastError invalid_request if neither is a folder.
 */
export function resolveOutput(target: { blobUrl?: string | undefined; featureLocation: string }): string {
  const { blobUrl, featureLocation } = target;
  if (blobUrl !== undefined && blobUrl !== "") {
    if (!isUrl(blobUrl)) return resolve(withoutSas(blobUrl), DATA);
    if (/^file:/i.test(blobUrl)) return resolve(filePath(blobUrl), DATA);
    throw unwritable(
      `BLOB_URL ${redactUrl(blobUrl)} is neither a folder nor a container`,
      redactUrl(blobUrl),
    );
  }
  if (isUrl(featureLocation) && !/^file:/i.test(featureLocation)) {
    throw unwritable(
      "BLOB_URL must name a folder or a container for the output when the feature blob is read from a URL",
    );
  }
  const file = isUrl(featureLocation) ? filePath(featureLocation) : featureLocation;
  const folder = dirname(resolve(file));
  return basename(folder) === DATA ? folder : join(folder, DATA);
}

/** @throws MucastError invalid_request for a URL without its `https://`, which would name a folder after the SAS. */
function withoutSas(folder: string): string {
  if (withoutSignature(folder) === folder) return folder;
  throw unwritable(`BLOB_URL ${redactUrl(folder)} carries a SAS, which no folder has in its name`);
}

function unwritable(message: string, value?: string): MucastError {
  return new MucastError("invalid_request", message, { path: "BLOB_URL", ...(value ? { value } : {}) });
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
  if (await exists(join(folder, name), shown)) throw nameTaken(shown);
  await checkFolder(folder, shown);
}

/**
 * Checks that a folder can be written to, or created in its nearest existing parent. Writes nothing.
 * @throws MucastError output_failed.
 */
export async function checkFolder(folder: string, shown: string = folder): Promise<void> {
  let parent = folder;
  while (!(await exists(parent, shown)) && dirname(parent) !== parent) parent = dirname(parent);
  try {
    if (!(await stat(parent)).isDirectory()) throw outputFailed(shown, "a part of its path is not a folder");
    await access(parent, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw error instanceof MucastError ? error : outputFailed(shown, causeOf(error), error);
  }
}

async function exists(path: string, shown: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return false;
    throw outputFailed(shown, causeOf(error), error);
  }
}

/**
 * Writes one output, create-only and atomically: the name appears once, complete and flushed to disk, or not at all; a file of that name is
 * never replaced. The folder is created only now.
 * @param content bytes or text, whole or in pieces.
 * @returns the file: URL of the output.
 * @throws MucastError output_failed if the name exists, the disk is full, or the right is missing; errors of `content` and the signal are
 * passed on. Nothing is left behind in any case.
 */
export async function writeOutput(
  folder: string,
  name: string,
  content: Content,
  options: { signal?: AbortSignal } = {},
): Promise<string> {
  const staged = await stageFile(folder, name, content, options);
  try {
    // Flushing a large file takes time.
    throwIfAborted(options.signal, "writing", staged.shown);
  } catch (error) {
    await discardStaged(staged);
    throw error;
  }
  if (!(await publishStaged(staged))) {
    await discardStaged(staged);
    throw nameTaken(staged.target);
  }
  return pathToFileURL(staged.target).href;
}
