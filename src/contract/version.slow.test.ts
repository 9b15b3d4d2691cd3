import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { headCommit } from "./version.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-commit-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const AUTHOR = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];

function git(where: string, ...words: string[]): string {
  return execFileSync("git", [...AUTHOR, ...words], { cwd: join(folder, where), encoding: "utf8" }).trim();
}

before(() => {
  mkdirSync(join(folder, "one"));
  git("one", "init", "--quiet", "--initial-branch", "team/main");
});

test("a folder that is not a checkout, or has no commit yet, has none", () => {
  assert.equal(headCommit(folder), undefined);
  assert.equal(headCommit(join(folder, "one")), undefined);
});

test("the commit of a branch is found in its file, and after git has packed it", () => {
  git("one", "commit", "--quiet", "--allow-empty", "--message", "first");
  assert.equal(headCommit(join(folder, "one")), git("one", "rev-parse", "HEAD"));
  git("one", "branch", "main");
  git("one", "pack-refs", "--all");
  assert.equal(headCommit(join(folder, "one")), git("one", "rev-parse", "HEAD"));
  git("one", "commit", "--quiet", "--allow-empty", "--message", "second");
  assert.equal(
    headCommit(join(folder, "one")),
    git("one", "rev-parse", "HEAD"),
    "a file beside an older line",
  );
});

test("a worktree has a commit of its own, and so has a detached HEAD", () => {
  git("one", "worktree", "add", "--quiet", "../two", "main");
  assert.equal(headCommit(join(folder, "two")), git("one", "rev-parse", "main"));
  git("two", "commit", "--quiet", "--allow-empty", "--message", "third");
  assert.equal(headCommit(join(folder, "two")), git("two", "rev-parse", "HEAD"));
  assert.notEqual(headCommit(join(folder, "two")), headCommit(join(folder, "one")));
  git("two", "checkout", "--quiet", "--detach", "team/main");
  assert.equal(headCommit(join(folder, "two")), git("one", "rev-parse", "HEAD"));
});
