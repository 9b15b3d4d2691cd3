/** A folder that looks like a checkout: its links lead to this one, but files written to it stay there. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";

const LINKED = ["src", "scripts", "schemas", "node_modules", "tools", "engine", ".mucast"];
const COPIED = ["package.json", "tsconfig.json", "examples/sp500-30", "examples/sp500-200"];

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class ScratchCheckout implements AsyncDisposable {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<ScratchCheckout> {
    const checkout = new ScratchCheckout(await mkdtemp(join(tmpdir(), "mucast-docs-")));
    for (const name of LINKED) await symlink(resolve(name), join(checkout.folder, name));
    for (const name of COPIED) await cp(name, join(checkout.folder, name), { recursive: true });
    return checkout;
  }

  async write(file: string, content: string): Promise<void> {
    await mkdir(join(this.folder, file, ".."), { recursive: true });
    await writeFile(join(this.folder, file), content);
  }

  /**
   * Runs a command to its end.
   * @param within a folder of the checkout. @param env in addition to the environment of this process.
   */
  async run(
    command: string,
    args: readonly string[],
    within = ".",
    env: Readonly<Record<string, string>> = {},
  ): Promise<CommandResult> {
    const child = spawn(command, args, {
      cwd: join(this.folder, within),
      env: { ...process.env, TMPDIR: this.folder, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "exit"),
    ]);
    return { code, stdout, stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
