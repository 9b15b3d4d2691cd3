import { spawn } from "node:child_process";
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { makeFolder } from "../../contract/machine/folders.ts";

/** Marks a folder that was built completely. */
const STAMP = "mucast-environment.json";

const UNFINISHED = ".unfinished-";

// The kernel owns the lock, so a kill leaves no stale one. Node has no flock, but Python does. The holder ends when its stdin does, that is
// when this process ends or releases the lock.
const HOLD = `
import fcntl, os, sys
with open(sys.argv[1], "a+") as file:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        print("waiting", file.read(), flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
    file.truncate(0)
    print(os.getppid(), file=file, end="", flush=True)
    print("held", flush=True)
    sys.stdin.read()`;

/** Whether `folder` was built completely. */
export function isBuilt(folder: string): boolean {
  return existsSync(join(folder, STAMP));
}

/**
 * Runs `body`, which builds folders in `parent`, while no other process does. First removes what killed processes left.
 * @param python interpreter that holds the lock.
 */
export function whileBuildingAlone<T>(
  python: string,
  parent: string,
  report: (line: string) => void,
  body: () => Promise<T>,
): Promise<T> {
  makeFolder(parent);
  return withSetUpLock(python, join(parent, ".lock"), report, () => {
    for (const name of readdirSync(parent)) {
      if (name.includes(UNFINISHED)) remove(join(parent, name));
    }
    return body();
  });
}

/**
 * Fills a folder beside `folder` and moves it into place, so that a kill at any moment leaves either no `folder` or a complete one.
 * Replaces an older one.
 */
export async function buildFolder(
  folder: string,
  fill: (unfinished: string) => Promise<void>,
): Promise<void> {
  const unfinished = `${folder}${UNFINISHED}${process.pid}`;
  try {
    await fill(unfinished);
    writeFileSync(join(unfinished, STAMP), `${JSON.stringify({ made: new Date().toISOString() })}\n`);
    removeOld(folder);
    renameSync(unfinished, folder);
  } catch (error) {
    remove(unfinished);
    throw error;
  }
}

function removeOld(folder: string): void {
  if (!existsSync(folder)) return;
  const aside = `${folder}${UNFINISHED}old-${process.pid}`;
  renameSync(folder, aside);
  remove(aside);
}

/** Retries if a child of a killed set-up is still writing into the folder. */
function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * Runs `body` while no other process runs under the same lock file.
 * @throws MucastError engine_unavailable if the folder cannot hold a lock; errors of `body`.
 */
async function withSetUpLock<T>(
  python: string,
  file: string,
  report: (line: string) => void,
  body: () => Promise<T>,
): Promise<T> {
  const holder = spawn(python, ["-I", "-c", HOLD, file], { stdio: ["pipe", "pipe", "pipe"] });
  holder.stdin.on("error", () => undefined);
  const ended = new Promise<void>((resolve) => {
    holder.once("close", () => resolve());
    holder.once("error", () => resolve());
  });
  try {
    await held(holder, file, report);
    return await body();
  } finally {
    holder.stdin.end();
    await ended;
  }
}

function held(holder: ReturnType<typeof spawn>, file: string, report: (line: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = "";
    let complaint = "";
    holder.stdout!.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const other = /waiting (\d*)\n$/.exec(output);
      if (other) report(`setup: waiting for the set-up of process ${other[1]}, which holds ${file}`);
      if (output.endsWith("held\n")) resolve();
    });
    holder.stderr!.setEncoding("utf8").on("data", (text: string) => {
      complaint += text;
    });
    const fail = (reason: string) =>
      reject(new MucastError("engine_unavailable", `cannot lock ${file}: ${reason}`, { path: file }));
    holder.once("error", (error) => fail(error.message));
    holder.once("close", () => fail(complaint.trim().split("\n").at(-1) ?? ""));
  });
}
