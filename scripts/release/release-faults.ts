import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { treeCommit } from "../tree-commit.ts";
import { changelogSections, PLACEHOLDER, readRelease } from "./release-files.ts";

/**
 * What keeps the checkout in `folder` from being released, each in one line that begins with the file.
 * @param tag must name the version, and the commit that is checked out.
 */
export function releaseFaults(folder: string, tag?: string): string[] {
  const { version } = readRelease(folder);
  return [
    ...versionFaults(folder, version),
    ...changelogFaults(folder, version),
    ...placeholderFaults(folder),
    ...commitFaults(folder, version, tag),
  ];
}

function versionFaults(folder: string, version: string): string[] {
  const lock = JSON.parse(read(folder, "package-lock.json"));
  const found = {
    "package-lock.json": lock.version,
    'package-lock.json, packages[""]': lock.packages[""].version,
    "engine/pyproject.toml": /^version = "(.*)"$/m.exec(read(folder, "engine/pyproject.toml"))?.[1],
  };
  return Object.entries(found).flatMap(([place, its]) =>
    its === version ? [] : [`${place}: the version is ${its}, but package.json has ${version}`],
  );
}

function changelogFaults(folder: string, version: string): string[] {
  const [unreleased, newest] = changelogSections(folder);
  const faults: string[] = [];
  if (unreleased?.name !== "Unreleased") faults.push("CHANGELOG.md: the first section is not [Unreleased]");
  else if (unreleased.text !== "")
    faults.push(`CHANGELOG.md: [Unreleased] has lines that belong to ${version}`);
  if (newest?.name !== version || newest.date === undefined || newest.text === "")
    faults.push(`CHANGELOG.md: the second section is not a filled [${version}] - YYYY-MM-DD`);
  return faults;
}

function placeholderFaults(folder: string): string[] {
  const faults: string[] = [];
  if (readRelease(folder).source.split("/").includes(PLACEHOLDER))
    faults.push(`package.json: repository still has the placeholder ${PLACEHOLDER}`);
  const image = /^ARG NODE_IMAGE=(\S+)$/m.exec(read(folder, "Dockerfile"))?.[1] ?? "";
  if (!/@sha256:[0-9a-f]{64}$/.test(image)) {
    const command = `docker buildx imagetools inspect ${image} --format '{{.Manifest.Digest}}'`;
    faults.push(`Dockerfile: NODE_IMAGE has no digest; add @ and what this prints: ${command}`);
  }
  return faults;
}

function commitFaults(folder: string, version: string, tag: string | undefined): string[] {
  const commit = treeCommit(folder);
  if (commit === undefined) return ["the folder is not a checkout"];
  const faults = commit.endsWith("-dirty") ? ["the checkout has changes that are not committed"] : [];
  if (tag === undefined) return faults;
  if (tag !== `v${version}`)
    return [...faults, `the tag ${tag} is not v${version}, the version of package.json`];
  const words = ["rev-parse", "--verify", "--quiet", `refs/tags/${tag}^{commit}`];
  const tagged = spawnSync("git", words, { cwd: folder, encoding: "utf8" }).stdout.trim();
  if (tagged === "") return [...faults, `there is no tag ${tag}`];
  return commit.startsWith(tagged) ? faults : [...faults, `the tag ${tag} is on ${tagged}, not on ${commit}`];
}

function read(folder: string, name: string): string {
  return readFileSync(join(folder, name), "utf8");
}
