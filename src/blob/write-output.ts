import { pathToFileURL } from "node:url";
import { throwIfAborted } from "./canceled.ts";
import type { Content } from "./content.ts";
import { nameTaken } from "./output-folder.ts";
import { discardStaged, publishStaged, stageFile } from "./staged-file.ts";

/**
 * Writes one output, create-only and atomically: the name appears once, whole and flushed to disk, or not at all;
 * a file of that name is never replaced. The folder is made only now.
 * @param content bytes or text, whole or in pieces.
 * @returns the file: URL of the output.
 * @throws MucastError output_failed where the name exists, the disk is full, or the right is missing; what
 * `content` or the signal throws is thrown on. In every case nothing is left behind.
 */
export async function writeOutput(
  folder: string,
  name: string,
  content: Content,
  options: { signal?: AbortSignal } = {},
): Promise<string> {
  const staged = await stageFile(folder, name, content, options);
  try {
    // Flushing a large file takes its time.
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
