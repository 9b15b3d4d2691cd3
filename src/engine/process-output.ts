import { type ChildProcess, execFile } from "node:child_process";

/**
 * Calls `take` with every complete line of a process; drops what follows the last line feed. It looks at each character once, however many
 * pieces a line comes in.
 * @param maxLength in characters; a longer line comes in pieces, the first of which is longer than this.
 */
export function readLines(
  stream: NodeJS.ReadableStream,
  take: (line: string) => void,
  maxLength: number,
): void {
  /** The current line, in pieces as received. */
  let pieces: string[] = [];
  let length = 0;
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => {
    const parts = text.split("\n");
    for (const [i, part] of parts.entries()) {
      pieces.push(part);
      length += part.length;
      if (i === parts.length - 1 && length <= maxLength) return;
      const line = pieces.join("");
      pieces = [];
      length = 0;
      take(line);
    }
  });
}

const HELD_MILLISECONDS = 3_000;

/**
 * Makes `child` close within 3 s of its exit, even if another process holds its pipes, such as one that an interpreter's wrapper left
 * behind. Processes that end with it, such as a host's workers, have that time.
 */
export function closeHeldPipes(child: ChildProcess): void {
  child.once("exit", () => {
    const close = () => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    };
    // All that it wrote is in the pipes by now, and is read before the next immediate.
    const timer = setTimeout(() => setImmediate(close), HELD_MILLISECONDS);
    child.once("close", () => clearTimeout(timer));
  });
}

/** How a command ended, and its output. */
export interface CommandEnd {
  /** 0 if it succeeded; null if it was killed or never started. */
  readonly code: number | null;
  readonly stdout: string;
  /** Why it could not start, or what it printed on stderr. */
  readonly stderr: string;
}

/** Runs a command to its end with an empty input. Does not wait for processes that it leaves behind. Never rejects. */
export function runCommand(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<CommandEnd> {
  return new Promise((resolve) => {
    const options = { env, maxBuffer: Number.POSITIVE_INFINITY };
    const child = execFile(command, [...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      const isStarted = child.pid !== undefined;
      resolve({
        code: typeof code === "number" ? code : null,
        stdout,
        stderr: isStarted ? stderr : String(error?.message),
      });
    });
    child.stdin!.on("error", () => undefined).end();
    closeHeldPipes(child);
  });
}

/**
 * The JSON object that a command printed on one line. An interpreter's wrapper or its site may print before and after it.
 * @param first name of its first member.
 * @returns undefined if there is none.
 */
export function parseAnswer(stdout: string, first: string): unknown {
  const begin = stdout.lastIndexOf(`{"${first}"`);
  try {
    return begin < 0 ? undefined : JSON.parse(stdout.slice(begin).split("\n", 1)[0]!);
  } catch {
    return undefined;
  }
}
