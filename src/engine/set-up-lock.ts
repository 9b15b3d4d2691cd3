import { spawn } from "node:child_process";
import { MucastError } from "../contract/errors.ts";

// The lock is the kernel's: it ends with the process that holds it, so no kill leaves a stale one. Node has no
// flock, Python does; the holder ends when its stdin does, which is when this process ends or lets go.
const HOLD = `
import fcntl, sys
with open(sys.argv[1], "a") as file:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("waiting", flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()`;

/**
 * Runs `body` while no other process does so under the same lock file.
 * @param onWait called where another one is at work.
 * @throws MucastError engine_unavailable where the folder cannot hold a lock; what `body` throws.
 */
export async function withSetUpLock<T>(
  python: string,
  file: string,
  onWait: () => void,
  body: () => Promise<T>,
): Promise<T> {
  const holder = spawn(python, ["-I", "-c", HOLD, file], { stdio: ["pipe", "pipe", "pipe"] });
  holder.stdin.on("error", () => undefined);
  const ended = new Promise<void>((resolve) => {
    holder.once("close", () => resolve());
    holder.once("error", () => resolve());
  });
  try {
    await held(holder, file, onWait);
    return await body();
  } finally {
    holder.stdin.end();
    await ended;
  }
}

function held(holder: ReturnType<typeof spawn>, file: string, onWait: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    let complaint = "";
    holder.stdout!.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.endsWith("waiting\n")) onWait();
      if (said.endsWith("held\n")) resolve();
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
