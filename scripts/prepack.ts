/**
 * Builds what the npm package contains, and writes its npm-shrinkwrap.json: package-lock.json without the packages of development, so that
 * npm installs the same versions for every user. In a checkout, npm would prefer that file to package-lock.json: `postpack` removes it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import "./build.ts";

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly devDependencies?: object }>>;
}

const lock: LockFile = JSON.parse(readFileSync("package-lock.json", "utf8"));
const { "": root, ...installed } = lock.packages;
const { devDependencies: _, ...own } = root!;
const packages = Object.entries(installed).filter(([, { dev }]) => dev !== true);
const shrinkwrap = { ...lock, packages: { "": own, ...Object.fromEntries(packages) } };
writeFileSync("npm-shrinkwrap.json", `${JSON.stringify(shrinkwrap, null, 2)}\n`);
