/** The environment of the Python client's tests. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { clientEnvironment } from "../../scripts/locked-python.ts";

export const CLIENT_FOLDER = "clients/python";

export interface Told {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningPython {
  /** What it has printed until now. */
  stderr(): string;
  readonly ended: Promise<Told>;
}

/** Starts the interpreter that has the client's dependencies, with the client's folder among its modules. */
export function startClientPython(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): RunningPython {
  const child = spawn(clientEnvironment(), args, {
    env: { ...process.env, PYTHONPATH: CLIENT_FOLDER, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text) => {
      said[name] += text;
    });
  }
  return {
    stderr: () => said.stderr,
    ended: once(child, "close").then(([code]) => ({ code, ...said })),
  };
}

/** The same, to its end. */
export function clientPython(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Told> {
  return startClientPython(args, env).ended;
}

/** Runs the tests with these markers. */
export function clientTests(marked: string, env: Readonly<Record<string, string>> = {}): Promise<Told> {
  return clientPython(["-m", "pytest", "-q", "-m", marked, `${CLIENT_FOLDER}/tests`], env);
}
