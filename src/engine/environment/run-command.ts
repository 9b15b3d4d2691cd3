import { spawn } from "node:child_process";
import { closeHeldPipes } from "../held-pipes.ts";

/** How a command ended, and its output. */
export interface CommandEnd {
  /** 0 if it succeeded; null if it was killed or never started. */
  readonly code: number | null;
  readonly stdout: string;
  /** Why it could not start, or what it printed on stderr. */
  readonly stderr: string;
}

/** Runs a command to its end with a closed input. Does not wait for processes that it leaves behind. Never rejects. */
export function runCommand(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<CommandEnd> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    closeHeldPipes(child);
    child.once("error", (error) => resolve({ code: null, stdout, stderr: error.message }));
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/**
 * The JSON object that a command printed on one line. An interpreter's wrapper or its site may print before and after it.
 * @param first name of its first member.
 * @returns undefined if there is none.
 */
export function answerIn(stdout: string, first: string): unknown {
  const begin = stdout.lastIndexOf(`{"${first}"`);
  try {
    return begin < 0 ? undefined : JSON.parse(stdout.slice(begin).split("\n", 1)[0]!);
  } catch {
    return undefined;
  }
}
