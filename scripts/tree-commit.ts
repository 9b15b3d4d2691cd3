/** The commit of the tree, for packages and images. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { COMMIT_PATTERN } from "../src/contract/version.ts";

/**
 * The commit of a checkout as `git` sees it, with `-dirty` if a file has changed that git does not ignore.
 * @returns undefined if `folder` is not a checkout. @throws Error if git cannot read it.
 */
export function treeCommit(folder: string): string | undefined {
  if (!existsSync(join(folder, ".git"))) return undefined;
  const commit = git(folder, "rev-parse", "HEAD").trim();
  return git(folder, "status", "--porcelain") === "" ? commit : `${commit}-dirty`;
}

/** What MUCAST_COMMIT says, for a build without git, such as of an image; otherwise the commit of the checkout in the current folder. */
export function commitToBuild(env: NodeJS.ProcessEnv): string | undefined {
  const { MUCAST_COMMIT: named } = env;
  if (named === undefined || named === "") return treeCommit(".");
  if (!COMMIT_PATTERN.test(named)) throw new Error(`MUCAST_COMMIT is not a full commit: ${named}`);
  return named;
}

function git(cwd: string, ...words: string[]): string {
  const { status, stdout, stderr, error } = spawnSync("git", words, { cwd, encoding: "utf8" });
  if (error) throw error;
  if (status !== 0) throw new Error(`git ${words.join(" ")}: ${stderr}`);
  return stdout;
}
