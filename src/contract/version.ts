import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the package: two folders up, both here and in the compiled package. */
const PACKAGE = new URL("../../", import.meta.url);

/** A commit's full SHA-1 or SHA-256, with `-dirty` if the tree had changes that were not committed. */
export const COMMIT_PATTERN = /^(?:[0-9a-f]{40}|[0-9a-f]{64})(?:-dirty)?$/;

export const MUCAST_VERSION: string = JSON.parse(
  readFileSync(new URL("package.json", PACKAGE), "utf8"),
).version;

/** What scripts/build.ts wrote into the compiled package; undefined in a checkout. */
const BUILT = textOf(fileURLToPath(new URL("../commit", import.meta.url)))?.trim();

/** The full commit of this code, with `-dirty` if the package was built with changes that were not committed; undefined if it is unknown. */
export const MUCAST_COMMIT: string | undefined =
  BUILT !== undefined && COMMIT_PATTERN.test(BUILT) ? BUILT : headCommit(fileURLToPath(PACKAGE));

const SHORT_COMMIT = MUCAST_COMMIT?.replace(/^([0-9a-f]{7})[0-9a-f]*/, "$1");

export const MUCAST_BUILD = SHORT_COMMIT ? `${MUCAST_VERSION}+${SHORT_COMMIT}` : MUCAST_VERSION;

export const MUCAST_BUILD_TEXT = SHORT_COMMIT ? `${MUCAST_VERSION} (${SHORT_COMMIT})` : MUCAST_VERSION;

/**
 * The commit of HEAD of the checkout in `folder`, read from its files: running git takes longer than the rest of a short command.
 * Changes that are not committed do not show.
 * @returns undefined if `folder` is not the top of a checkout, has no commit yet, or stores its refs in a newer format (reftable).
 */
export function headCommit(folder: string): string | undefined {
  const place = join(folder, ".git");
  // In a worktree or a submodule, `.git` is a file that names the folder.
  const linked = /^gitdir: (.+)$/m.exec(textOf(place) ?? "")?.[1];
  const gitDir = linked === undefined ? place : resolve(folder, linked);
  const head = textOf(join(gitDir, "HEAD"))?.trim();
  const ref = /^ref: (refs\/\S+)$/.exec(head ?? "")?.[1];
  const refsDir = resolve(gitDir, textOf(join(gitDir, "commondir"))?.trim() ?? "");
  const refs = textOf(join(refsDir, "packed-refs"))?.split("\n") ?? [];
  const packed = refs.find((line) => line.endsWith(` ${ref}`))?.split(" ")[0];
  const found = ref === undefined ? [head] : [textOf(join(refsDir, ref))?.trim(), packed];
  return found.find((text) => text !== undefined && COMMIT_PATTERN.test(text));
}

/** Undefined if the file does not exist or cannot be read: a commit is good to know, and no reason to stop. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return undefined;
  }
}
