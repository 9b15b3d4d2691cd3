import { access, chmod } from "node:fs/promises";
import { join } from "node:path";
import { checkFolder } from "../blob/output-folder.ts";
import { codeOf } from "../contract/errors/system-error.ts";
import { makeFolder } from "../contract/machine/folders.ts";

/**
 * Looks at the folder of the blobs before the service answers. That of the data folder is closed to other users: older
 * versions left it open. One that the operator has made elsewhere keeps its rights. One that is missing is made
 * now, and by no blob later: what is written where the folder was moved away would be lost.
 * @param folder absolute, as `dataDir`.
 * @throws MucastError output_failed where it is missing and cannot be made.
 */
export async function openBlobFolder(folder: string, dataDir: string): Promise<void> {
  const isOurs = folder === join(dataDir, "blobs");
  try {
    await (isOurs ? chmod(folder, 0o700) : access(folder));
  } catch (error) {
    // Of one that is there, the readiness check tells what is wrong with it.
    if (codeOf(error) !== "ENOENT") return;
    await checkFolder(folder, `the folder of the blobs, ${folder},`);
    makeFolder(folder, 0o700);
  }
}
