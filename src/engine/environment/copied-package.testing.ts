import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, afterEach, before, beforeEach } from "node:test";
import { fileURLToPath } from "node:url";
import { type CommandEnd, runCommand } from "../process-output.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The parts of an installed package that find, install and remove environments: no checkout, and no environment yet. */
export class CopiedPackage {
  /** The package's modules, and Node's compiled cache of them. */
  readonly #installed = mkdtempSync(join(tmpdir(), "mucast-package-"));

  /** A new folder for each test: the home and the cache of the package's user. */
  folder = "";

  /** The environments of the package. */
  get environments(): string {
    return join(this.folder, "cache", "mucast", "env");
  }

  /** Copies the package before the tests of a file, and removes it after them. */
  static forTests(): CopiedPackage {
    const copied = new CopiedPackage();
    before(() => copyPackage(join(copied.#installed, "package")));
    after(() => rmSync(copied.#installed, { recursive: true }));
    beforeEach(() => {
      copied.folder = mkdtempSync(join(tmpdir(), "mucast-environment-"));
    });
    afterEach(() => rmSync(copied.folder, { recursive: true }));
    return copied;
  }

  /** The printed value of `expression` over the copy's modules. Commands are searched for only on `path`. */
  evaluate(expression: string, path: string, named = ""): Promise<CommandEnd> {
    const engine = join(this.#installed, "package/src/engine/environment");
    const program = `
      Promise.all(${JSON.stringify(MODULES)}.map((name) => import(${JSON.stringify(engine)} + "/" + name)))
        .then(async (parts) => { const m = Object.assign({}, ...parts); console.log(JSON.stringify(await ${expression})); })
        .catch((error) => { console.log(error.code, error.message); });`;
    const env = {
      PATH: path,
      XDG_CACHE_HOME: join(this.folder, "cache"),
      HOME: this.folder,
      MUCAST_PYTHON: named,
      NODE_COMPILE_CACHE: join(this.#installed, "compiled"),
    };
    return runCommand(process.execPath, ["--no-warnings", "-e", program], env);
  }
}

/** Their exports are members of `m` in an expression. */
const MODULES = ["environment.ts", "engine-status.ts", "install-environment.ts", "prune-environments.ts"];

function copyPackage(copy: string): void {
  cpSync(join(ROOT, "src/engine"), join(copy, "src/engine"), { recursive: true });
  cpSync(join(ROOT, "src/contract"), join(copy, "src/contract"), { recursive: true });
  cpSync(join(ROOT, "engine"), join(copy, "engine"), {
    recursive: true,
    filter: (path) => !/tests|cache/.test(relative(ROOT, path)),
  });
  writeFileSync(join(copy, "package.json"), '{"type": "module"}');
  mkdirSync(join(copy, "node_modules"));
  symlinkSync(realpathSync(join(ROOT, "node_modules/zod")), join(copy, "node_modules/zod"));
}
