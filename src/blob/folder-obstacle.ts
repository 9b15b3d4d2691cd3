import { accessSync, constants, lstatSync } from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "../contract/errors/system-error.ts";

/**
 * Why a folder cannot be made, given the error of `mkdir`: on a read-only file system Node says only that the folder
 * does not exist (ENOENT).
 * @returns the error of writing to the nearest parent that is there; `error` itself where that may be written to.
 */
export function folderObstacle(folder: string, error: unknown): unknown {
  if (codeOf(error) !== "ENOENT") return error;
  let nearest = folder;
  while (lstatSync(nearest, { throwIfNoEntry: false }) === undefined && dirname(nearest) !== nearest) {
    nearest = dirname(nearest);
  }
  try {
    accessSync(nearest, constants.W_OK | constants.X_OK);
    return error;
  } catch (obstacle) {
    return obstacle;
  }
}
