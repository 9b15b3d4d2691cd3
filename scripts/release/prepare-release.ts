import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { clientEnvironment, lockedPython } from "../locked-python.ts";
import { treeCommit } from "../tree-commit.ts";
import { withoutDevelopment } from "./npm-sbom.ts";
import { packageFaults } from "./package-faults.ts";
import { changelogSections, readRelease } from "./release-files.ts";

/** The locks of Python in a package or an image. */
const PYTHON_LOCKS = ["ml", "dl", "dl-cpu", "ray"] as const;

/**
 * Writes what is published with a release: the packages, an SBOM for each lock, the notes, and all checksums.
 * @param folder is created, and must have been empty. @throws Error if the package has a wrong file, or lacks one.
 */
export function prepareRelease(checkout: string, folder: string): void {
  const out = resolve(folder);
  mkdirSync(out, { recursive: true });
  if (readdirSync(out).length > 0) throw new Error(`${folder} is not empty`);
  pack(checkout, out);
  const wheel = "-m hatchling build --target wheel --directory".split(" ");
  run(join(checkout, "clients/python"), clientEnvironment(), ...wheel, out);
  writeSboms(checkout, out);
  writeNotes(checkout, out);
  writeChecksums(out);
}

function pack(checkout: string, out: string): void {
  const [packed] = JSON.parse(run(checkout, "npm", "pack", "--json", "--pack-destination", out));
  const files = packed.files.map(({ path }: { path: string }) => path);
  const faults = packageFaults(checkout, files);
  if (faults.length > 0) throw new Error(`${packed.filename}:\n${faults.join("\n")}`);
  const built = readFileSync(join(checkout, "dist/commit"), "utf8").trim();
  if (built !== treeCommit(checkout)) throw new Error(`${packed.filename} was built from ${built}`);
}

function writeSboms(checkout: string, out: string): void {
  const { version } = readRelease(checkout);
  const npm = run(checkout, "npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only");
  writeFileSync(join(out, `mucast-${version}-npm.cdx.json`), withoutDevelopment(npm, checkout));
  const python = lockedPython("sbom", fileURLToPath(new URL("requirements-sbom.txt", import.meta.url)));
  for (const name of PYTHON_LOCKS) {
    const file = join(out, `mucast-${version}-python-${name}.cdx.json`);
    const lock = `engine/requirements-${name}.txt`;
    const output = ["--output-reproducible", "--output-format", "JSON", "--output-file", file];
    run(checkout, python, "-m", "cyclonedx_py", "requirements", lock, ...output);
  }
}

function writeNotes(checkout: string, out: string): void {
  const { version, source } = readRelease(checkout);
  const section = changelogSections(checkout).find(({ name }) => name === version);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section ${version}`);
  const text = section.text.replaceAll(/\]\((?!https?:)/g, `](${source}/blob/v${version}/`);
  writeFileSync(join(out, "notes.md"), `${text}\n`);
}

function writeChecksums(out: string): void {
  const lines = readdirSync(out)
    .toSorted()
    .map((name) => {
      const hash = createHash("sha256").update(readFileSync(join(out, name)));
      return `${hash.digest("hex")}  ${name}\n`;
    });
  writeFileSync(join(out, "SHA256SUMS"), lines.join(""));
}

function run(cwd: string, command: string, ...words: string[]): string {
  const options = { cwd, encoding: "utf8" as const, maxBuffer: 64 * 2 ** 20 };
  return execFileSync(command, words, { ...options, stdio: ["ignore", "pipe", "inherit"] });
}
