/** The environment of the Python client's tests. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { lockedPython } from "../../scripts/locked-python.ts";

export const CLIENT_FOLDER = "clients/python";

export interface Told {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the interpreter that has the client's dependencies, with the client's folder among its modules. */
export async function clientPython(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Told> {
  const python = lockedPython("python-client", `${CLIENT_FOLDER}/requirements-dev.txt`);
  const child = spawn(python, args, {
    env: { ...process.env, PYTHONPATH: CLIENT_FOLDER, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { code, stdout, stderr };
}

/** Runs the tests with these markers. */
export function clientTests(marked: string, env: Readonly<Record<string, string>> = {}): Promise<Told> {
  return clientPython(["-m", "pytest", "-q", "-m", marked, `${CLIENT_FOLDER}/tests`], env);
}
