/**
 * Ports for servers whose port has to be known before they listen, or to stay the same when they start again. The system does not assign
 * ports below its ephemeral range by itself, and each port belongs to the test process that claimed it, so that nothing takes it between
 * two starts.
 */
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Linux assigns ports from 32768 on. */
const FIRST = 20_000;
const END = 32_000;
/** One file per port, with the pid of the process that claimed it. */
const CLAIMS = fileURLToPath(new URL("../../node_modules/.cache/mucast/ports", import.meta.url));

/** @returns a port on which nothing listens, for this process alone. */
export async function claimPort(): Promise<number> {
  mkdirSync(CLAIMS, { recursive: true });
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (END - FIRST));
    if (claims(port) && (await isFree(port))) return port;
  }
}

function claims(port: number): boolean {
  const claim = join(CLAIMS, String(port));
  try {
    writeFileSync(claim, String(process.pid), { flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if (!isAbandoned(claim)) return false;
    rmSync(claim, { force: true });
    return false;
  }
  process.once("exit", () => rmSync(claim, { force: true }));
  return true;
}

/** Whether the process that made a claim has ended, for example because it was killed. */
function isAbandoned(claim: string): boolean {
  try {
    process.kill(Number(readFileSync(claim, "utf8")), 0);
    return false;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ESRCH";
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return false;
    throw error;
  }
  server.close();
  await once(server, "close");
  return true;
}
