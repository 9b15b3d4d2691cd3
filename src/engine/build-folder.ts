import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../contract/make-folder.ts";
import { withSetUpLock } from "./set-up-lock.ts";

/** In every folder that was built to its end. */
export const STAMP = "mucast-environment.json";

const UNFINISHED = ".unfinished-";

/** Whether `folder` is there, whole. */
export function isBuilt(folder: string): boolean {
  return existsSync(join(folder, STAMP));
}

/**
 * Runs `body`, which builds folders in `parent`, while no other process does; what killed ones left is cleared first.
 * @param python interpreter that holds the lock.
 * @param onWait called where another process is at work.
 */
export function whileBuildingAlone<T>(
  python: string,
  parent: string,
  onWait: () => void,
  body: () => Promise<T>,
): Promise<T> {
  makeFolder(parent);
  return withSetUpLock(python, join(parent, ".lock"), onWait, () => {
    for (const name of readdirSync(parent)) {
      if (name.includes(UNFINISHED)) remove(join(parent, name));
    }
    return body();
  });
}

/**
 * Fills a folder beside `folder` and moves it into place, so that a kill at any moment leaves either nothing there
 * or all of it. What is there already is replaced.
 */
export async function buildFolder(
  folder: string,
  fill: (unfinished: string) => Promise<void>,
): Promise<void> {
  const unfinished = `${folder}${UNFINISHED}${process.pid}`;
  try {
    await fill(unfinished);
    writeFileSync(join(unfinished, STAMP), `${JSON.stringify({ made: new Date().toISOString() })}\n`);
    discard(folder);
    renameSync(unfinished, folder);
  } catch (error) {
    remove(unfinished);
    throw error;
  }
}

function discard(folder: string): void {
  if (!existsSync(folder)) return;
  const aside = `${folder}${UNFINISHED}old-${process.pid}`;
  renameSync(folder, aside);
  remove(aside);
}

/** Tries again where a child of a killed set-up is still writing into the folder. */
function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
