/** The files of a release, from a clone of the committed tree with the packages of this checkout. */
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { run } from "../../test/installed-package.testing.ts";
import { packageFaults } from "./package-faults.ts";
import { readRelease } from "./release-files.ts";

interface Sbom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string } };
  readonly components: readonly { readonly name: string; readonly version: string }[];
}

const { version } = readRelease(".");
const root = mkdtempSync(join(tmpdir(), "mucast-prepare-"));
const [clone, out] = [join(root, "clone"), join(root, "release")];
after(() => rmSync(root, { recursive: true, force: true }));

before(() => {
  run("git", ["clone", "--quiet", "--no-tags", ".", clone], ".");
  symlinkSync(resolve("node_modules"), join(clone, "node_modules"));
  const words = ["--conditions=mucast-source", resolve("scripts/release.ts"), "prepare", out];
  run(process.execPath, words, clone);
});

const sbomOf = (name: string): Sbom =>
  JSON.parse(readFileSync(join(out, `mucast-${version}-${name}.cdx.json`), "utf8"));

test("a release has the package, an SBOM for each lock, the notes, and their checksums", () => {
  const sboms = ["npm", "python-dl-cpu", "python-dl", "python-ml", "python-ray"].map(
    (name) => `mucast-${version}-${name}.cdx.json`,
  );
  assert.deepEqual(readdirSync(out).toSorted(), [
    "SHA256SUMS",
    ...sboms,
    `mucast-${version}.tgz`,
    `mucast_client-${version}-py3-none-any.whl`,
    "notes.md",
  ]);
  run("sha256sum", ["--check", "--strict", "SHA256SUMS"], out);
  const notes = readFileSync(join(out, "notes.md"), "utf8");
  assert.match(notes, /^### Upgrading$/m);
  assert.doesNotMatch(notes, /\]\((?!https:)/);
});

test("the package was built from the commit of the clone, without changes", () => {
  run("tar", ["-xzf", join(out, `mucast-${version}.tgz`), "package/dist/commit"], root);
  const commit = readFileSync(join(root, "package/dist/commit"), "utf8").trim();
  assert.equal(commit, run("git", ["rev-parse", "HEAD"], clone).stdout.trim());
});

test("an SBOM lists what its lock pins, and no package for development", () => {
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
    readFileSync("package.json", "utf8"),
  );
  const npm = sbomOf("npm");
  assert.equal(npm.bomFormat, "CycloneDX");
  assert.equal(npm.metadata.component.name, "mucast");
  const named = new Set(npm.components.map((component) => `${component.name}@${component.version}`));
  for (const [name, pinned] of Object.entries({ ...dependencies, ...optionalDependencies }))
    assert.ok(named.has(`${name}@${pinned}`), name);
  for (const name of ["typescript", "@modelcontextprotocol/client", "fast-check"])
    assert.ok(!named.has(`${name}@${devDependencies[name]}`), name);
  for (const lock of ["ml", "dl", "dl-cpu", "ray"]) {
    const pinned = readFileSync(`engine/requirements-${lock}.txt`, "utf8").matchAll(
      /^([\w.-]+)==([\w.+-]+)/gm,
    );
    const { components } = sbomOf(`python-${lock}`);
    assert.deepEqual(
      components.map((component) => `${component.name}==${component.version}`).toSorted(),
      [...pinned].map(([line]) => line).toSorted(),
    );
  }
});

test("a file that does not belong to the package, and one that it lacks, are named", () => {
  const files = run("tar", ["-tzf", join(out, `mucast-${version}.tgz`)], root)
    .stdout.trim()
    .split("\n");
  const packed = files.map((file) => file.replace(/^package\//, ""));
  assert.deepEqual(packageFaults(clone, packed), []);
  const changed = [
    ...packed.filter((file) => file !== "schemas/payload.json"),
    "docs/draft.md",
    "dist/a.test.js",
  ];
  assert.deepEqual(packageFaults(clone, changed), [
    "docs/draft.md does not belong to the package",
    "dist/a.test.js does not belong to the package",
    "schemas/payload.json is missing",
  ]);
});

test("a changed checkout is not released as its commit", () => {
  appendFileSync(join(clone, "README.md"), "\n");
  const words = ["--conditions=mucast-source", resolve("scripts/release.ts"), "build-args"];
  assert.match(run(process.execPath, words, clone).stdout, / COMMIT=[0-9a-f]{40}-dirty /);
});
