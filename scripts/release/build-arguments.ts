import { treeCommit } from "../tree-commit.ts";
import { readRelease } from "./release-files.ts";

/** The arguments of `docker build` that the labels of the images show. */
export function buildArguments(folder: string): string[] {
  const { version, source } = readRelease(folder);
  const commit = treeCommit(folder);
  const named = { VERSION: version, ...(commit === undefined ? {} : { COMMIT: commit }), SOURCE: source };
  return Object.entries(named).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]);
}
