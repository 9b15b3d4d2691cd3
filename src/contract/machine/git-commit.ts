import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** A commit's full SHA-1 or SHA-256, with `-dirty` if the tree had changes that were not committed. */
export const COMMIT_PATTERN = /^(?:[0-9a-f]{40}|[0-9a-f]{64})(?:-dirty)?$/;

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
export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return undefined;
  }
}
