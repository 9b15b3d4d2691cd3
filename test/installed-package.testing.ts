import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { publishTo } from "./npm-registry.testing.ts";

/** A folder with the packed package, and npm's report about its contents. */
interface Packed {
  readonly archive: string;
  readonly files: readonly { readonly path: string }[];
}

/** Builds and packs the repository into `folder`. */
export function packInto(folder: string): Packed {
  const words = ["pack", "--json", "--pack-destination", folder];
  const [{ filename, files }] = JSON.parse(run("npm", words, resolve(".")).stdout);
  return { archive: join(folder, filename), files };
}

/** The versions of each package. */
export type Versions = Record<string, Set<string>>;

/**
 * Makes `folder` a project that depends only on the package of the archive, as npm resolves it for any user of the registry. Direct dependencies that the
 * repository has installed in the same version are links to these: the files are the same, and unpacking 18,000 of them takes most of an
 * installation. A module that the package imports without depending on it is then missing. Everything else is installed normally.
 * @returns the versions that npm resolves.
 */
export async function installInto(folder: string, archive: string): Promise<Versions> {
  writeFileSync(join(folder, "package.json"), '{"private": true}');
  const registry = await publishTo(archive);
  // Not `run`, because this process is the registry.
  const install = (...words: string[]) =>
    promisify(execFile)(
      "npm",
      [
        "install",
        "--no-audit",
        "--no-fund",
        "--prefer-offline",
        "--registry",
        registry.url,
        ...words,
        "mucast",
      ],
      { cwd: folder },
    );
  try {
    await install("--package-lock-only");
    const { mucast, ...resolved } = versionsIn(join(folder, "package-lock.json"));
    assert.ok(mucast, "npm resolves the package");
    const installed = versionsIn("node_modules/.package-lock.json");
    const same = Object.entries(resolved).every(
      ([name, versions]) => versions.difference(installed[name] ?? new Set()).size === 0,
    );
    if (same) unpack(folder, archive);
    else await install();
    return resolved;
  } finally {
    registry.close();
  }
}

function unpack(folder: string, archive: string): void {
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  run("tar", ["-xzf", archive, "-C", modules], folder);
  renameSync(join(modules, "package"), join(modules, "mucast"));
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(modules, "mucast/package.json"), "utf8"),
  );
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(resolve("node_modules", name), join(modules, name));
  }
}

/** Those in a lock file of npm, except packages of development. */
export function versionsIn(lockFile: string): Versions {
  const { packages } = JSON.parse(readFileSync(lockFile, "utf8"));
  const versions: Versions = {};
  for (const [path, { version, dev }] of Object.entries<{ version: string; dev?: boolean }>(packages)) {
    const name = path.split("node_modules/").at(-1)!;
    if (name !== "" && dev !== true) versions[name] = (versions[name] ?? new Set()).add(version);
  }
  return versions;
}

/** @throws AssertionError if the command does not end with `status`. */
export function run(command: string, args: readonly string[], cwd: string, env = process.env, status = 0) {
  const done = spawnSync(command, args, { cwd, env, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  assert.equal(done.status, status, `${command} ${args.join(" ")}: ${done.error ?? done.stderr}`);
  return done;
}
