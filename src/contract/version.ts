import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { COMMIT_PATTERN, headCommit, textOf } from "./machine/git-commit.ts";

/** The folder of the package: two folders up, both here and in the compiled package. */
const PACKAGE = new URL("../../", import.meta.url);

export const MUCAST_VERSION: string = JSON.parse(
  readFileSync(new URL("package.json", PACKAGE), "utf8"),
).version;

/** The full commit of this code, with `-dirty` if the package was built with changes that were not committed; undefined if it is unknown. */
export const MUCAST_COMMIT: string | undefined = builtCommit() ?? headCommit(fileURLToPath(PACKAGE));

export const MUCAST_BUILD: string =
  MUCAST_COMMIT === undefined ? MUCAST_VERSION : `${MUCAST_VERSION}+${shortCommit(MUCAST_COMMIT)}`;

export const MUCAST_BUILD_TEXT: string =
  MUCAST_COMMIT === undefined ? MUCAST_VERSION : `${MUCAST_VERSION} (${shortCommit(MUCAST_COMMIT)})`;

/** What scripts/build.ts wrote into the compiled package; undefined in a checkout. */
function builtCommit(): string | undefined {
  const commit = textOf(fileURLToPath(new URL("../commit", import.meta.url)))?.trim();
  return commit !== undefined && COMMIT_PATTERN.test(commit) ? commit : undefined;
}

function shortCommit(commit: string): string {
  return commit.replace(/^([0-9a-f]{7})[0-9a-f]*/, "$1");
}
