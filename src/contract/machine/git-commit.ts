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
  const linked = match(textOf(place), /^gitdir: (.+)$/m);
  const gitDir = linked === undefined ? place : resolve(folder, linked);
  const head = textOf(join(gitDir, "HEAD"));
  const ref = match(head, /^ref: (refs\/\S+)$/m);
  if (ref === undefined) return hash(head);
  const common = textOf(join(gitDir, "commondir"))?.trim();
  const refsDir = common === undefined ? gitDir : resolve(gitDir, common);
  return hash(textOf(join(refsDir, ref))) ?? packedHash(textOf(join(refsDir, "packed-refs")), ref);
}

/** A line of packed-refs is a hash and a ref. */
function packedHash(packed: string | undefined, ref: string): string | undefined {
  const line = packed?.split("\n").find((entry) => entry.endsWith(` ${ref}`));
  return hash(line?.split(" ")[0]);
}

function hash(text: string | undefined): string | undefined {
  const trimmed = text?.trim();
  return trimmed !== undefined && COMMIT_PATTERN.test(trimmed) ? trimmed : undefined;
}

function match(text: string | undefined, pattern: RegExp): string | undefined {
  return text === undefined ? undefined : pattern.exec(text)?.[1];
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
