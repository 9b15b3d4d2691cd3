import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, beforeEach, test } from "node:test";
import { releaseFaults } from "./release-faults.ts";
import { buildArguments, changelogSections, PLACEHOLDER, readRelease } from "./release-files.ts";

const READ = ["package.json", "package-lock.json", "CHANGELOG.md", "Dockerfile", "engine/pyproject.toml"];
const { version } = readRelease(".");
const tag = `v${version}`;

const root = mkdtempSync(join(tmpdir(), "mucast-release-"));
after(() => rmSync(root, { recursive: true, force: true }));

/** A checkout with the files that a release reads, filled in, committed and tagged. */
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(root, "checkout-"));
  for (const name of READ) cpSync(name, join(folder, name));
  edit("package.json", (text) => text.replace(`/${PLACEHOLDER}/`, "/example/"));
  edit("Dockerfile", (text) => text.replace(/^(ARG NODE_IMAGE=[^@\n]+).*$/m, `$1@sha256:${"0".repeat(64)}`));
  edit("CHANGELOG.md", (text) => text.replace(/(?<=## \[Unreleased\]\n)[\s\S]*?(?=^## )/m, "\n"));
  git("init", "--quiet", "--initial-branch", "main");
  commit();
  git("tag", tag);
});

function edit(name: string, change: (text: string) => string): void {
  const before = readFileSync(join(folder, name), "utf8");
  writeFileSync(join(folder, name), change(before));
}

function commit(): void {
  const author = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
  git("add", "--all");
  git(...author, "commit", "--quiet", "--allow-empty", "--message", "Release");
}

function git(...words: string[]): string {
  return execFileSync("git", words, { cwd: folder, encoding: "utf8" }).trim();
}

test("a filled-in, committed and tagged checkout can be released", () => {
  assert.deepEqual(releaseFaults(folder, tag), []);
  assert.deepEqual(releaseFaults(folder), []);
});

test("each fault of the files is named with its file", () => {
  edit("package-lock.json", (text) => text.replace(`"version": "${version}"`, '"version": "9.9.9"'));
  edit("engine/pyproject.toml", (text) => text.replace(`version = "${version}"`, 'version = "9.9.9"'));
  edit("package.json", (text) => text.replace("/example/", `/${PLACEHOLDER}/`));
  edit("Dockerfile", (text) => text.replace(/@sha256:0+/, ""));
  edit("CHANGELOG.md", (text) =>
    text.replace("## [Unreleased]\n", "## [Unreleased]\n\n- A line.\n").replace(version, "9.9.9"),
  );
  const faults = releaseFaults(folder);
  for (const [i, fault] of [
    /^package-lock\.json: the version is 9\.9\.9, but package\.json has /,
    /^engine\/pyproject\.toml: the version is 9\.9\.9/,
    /^CHANGELOG\.md: \[Unreleased\] has lines/,
    /^CHANGELOG\.md: the second section is not a filled \[/,
    /^package\.json: repository still has the placeholder OWNER$/,
    /^Dockerfile: NODE_IMAGE has no digest; .*docker buildx imagetools inspect node:[\d.]+-bookworm-slim /,
    /changes that are not committed$/,
  ].entries())
    assert.match(faults[i]!, fault);
  assert.equal(faults.length, 7);
});

test("a tag must name the version and be on the commit", () => {
  assert.match(releaseFaults(folder, "v9.9.9").join(), /^the tag v9\.9\.9 is not v/);
  commit();
  assert.match(
    releaseFaults(folder, tag).join(),
    /^the tag v[\d.]+ is on [0-9a-f]{40}, not on [0-9a-f]{40}$/,
  );
  git("tag", "--delete", tag);
  assert.deepEqual(releaseFaults(folder, tag), [`there is no tag ${tag}`]);
});

test("the command refuses a tag of any other spelling, and runs no part of it", () => {
  const program = resolve("scripts/release.ts");
  const check = (given: string) =>
    spawnSync(process.execPath, [program, "check", given], { cwd: folder, encoding: "utf8" });
  for (const other of [
    `${tag}; touch planted`,
    `${tag} $(touch planted)`,
    `${tag}\`touch planted\``,
    `${tag}\ntouch planted`,
    `${tag}\n`,
    ` ${tag}`,
    `${tag}^{commit}`,
    version,
    tag.toUpperCase(),
    "",
    "v*",
    "-h",
    "--help",
    `--output=${tag}`,
  ]) {
    const { status, stdout, stderr } = check(other);
    assert.equal(status, 1, other);
    assert.equal(stdout, "");
    assert.match(stderr, /^the tag [\s\S]* is not v|^npm run release -- check /, other);
    assert.ok(!stderr.includes("    at "), stderr);
  }
  assert.equal(git("status", "--porcelain"), "", "no file was created");
  assert.equal(check(tag).status, 0);
});

test("the arguments of docker build name the version, the commit and the page of the repository", () => {
  const head = git("rev-parse", "HEAD");
  const source = "https://github.com/example/mucast";
  const labels = [`VERSION=${version}`, `COMMIT=${head}`, `SOURCE=${source}`];
  assert.deepEqual(
    buildArguments(folder),
    labels.flatMap((label) => ["--build-arg", label]),
  );
  writeFileSync(join(folder, "new"), "");
  assert.ok(buildArguments(folder).includes(`COMMIT=${head}-dirty`));
});

test("the changelog has the section of this version, with what an upgrade needs, in at most a page", () => {
  const section = changelogSections(".").find(({ name }) => name === version);
  assert.match(section!.date!, /^\d{4}-\d{2}-\d{2}$/);
  assert.match(section!.text, /^### Upgrading$/m);
  for (const { name, text } of changelogSections(".")) {
    assert.ok(text.split("\n").length <= 80, `${name} is longer than 80 lines`);
    const kinds = [...text.matchAll(/^### (.*)$/gm)].map(([, kind]) => kind!);
    assert.deepEqual(
      kinds.filter((kind) => !KINDS.includes(kind)),
      [],
      name,
    );
  }
});

/** The kinds of changes of keepachangelog.com, and how to upgrade. */
const KINDS = ["Upgrading", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
