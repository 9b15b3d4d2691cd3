import { readFileSync } from "node:fs";
import { join } from "node:path";
import { treeCommit } from "../tree-commit.ts";

/** What package.json says about a release. */
export interface Release {
  readonly version: string;
  /** Of `repository`, which package.json alone names, as a page of a browser. */
  readonly source: string;
}

/** The owner in `repository` until someone fills it in. */
export const PLACEHOLDER = "OWNER";

export function readRelease(folder: string): Release {
  const { version, repository } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return { version, source: repository.url.replace(/^git\+/, "").replace(/\.git$/, "") };
}

/** A section of the changelog. */
export interface ChangelogSection {
  /** Such as 0.2.0 or Unreleased. */
  readonly name: string;
  /** As YYYY-MM-DD; undefined for a section without a date. */
  readonly date: string | undefined;
  readonly text: string;
}

/** The sections of CHANGELOG.md, newest first. */
export function changelogSections(folder: string): ChangelogSection[] {
  const [, ...parts] = readFileSync(join(folder, "CHANGELOG.md"), "utf8").split(/^## /m);
  return parts.map((part) => {
    const [heading = "", ...lines] = part.split("\n");
    const [, name = heading, date] = /^\[?([^\]\s]+)\]?(?: - (\d{4}-\d{2}-\d{2}))?$/.exec(heading) ?? [];
    return { name, date, text: lines.join("\n").trim() };
  });
}

/** The arguments of `docker build` that the labels of the images show. */
export function buildArguments(folder: string): string[] {
  const { version, source } = readRelease(folder);
  const commit = treeCommit(folder);
  const named = { VERSION: version, ...(commit === undefined ? {} : { COMMIT: commit }), SOURCE: source };
  return Object.entries(named).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]);
}
