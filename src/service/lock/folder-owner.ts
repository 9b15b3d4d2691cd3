import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { codeOf } from "../../contract/errors/system-error.ts";
import { shellWord } from "../../contract/machine/shell-word.ts";

/** A restored database beside the folder that it replaces at the end. */
export const RESTORED = "database.restored";

/** Refuses, like `checkOwner`, a data folder whose database another user owns. */
export function checkDatabaseOwner(dataDir: string, own: string): void {
  const folders = [join(dataDir, "database"), join(dataDir, RESTORED)];
  const folder = folders.find((path) => existsSync(path));
  if (folder !== undefined) checkOwner(folder, own);
}

/**
 * Refuses a folder of the data folder that another user owns. Root could open it, but would leave files there that its owner cannot read,
 * and the service of that owner would then not start.
 * @param own a file that this process has just created beside it. Its owner, not the process's user id, is compared: some network mounts
 * give every file the same owner.
 * @throws MucastError unavailable. Nothing is wrong with a folder that does not exist.
 */
export function checkOwner(folder: string, own: string): void {
  const { uid } = statSync(own);
  const owner = ownerOf(folder);
  if (owner === undefined || owner === uid) return;
  const message = `${folder} ${ownership(owner, uid)}. ${advice(dirname(folder), owner, uid)}`;
  throw new MucastError("unavailable", message, { path: folder });
}

/**
 * Why permission is denied for a path in a data folder, if another user owns it, or a data folder whose content cannot be seen, and what to
 * do; undefined if this process owns it.
 */
export function foreignOwner(path: string, dataDir: string): string | undefined {
  const shown = existsSync(path) ? path : dataDir;
  const [owner, uid] = [ownerOf(shown), process.geteuid?.()];
  if (uid === undefined || owner === undefined || owner === uid) return undefined;
  return `${shown} ${ownership(owner, uid)}. ${advice(dataDir, owner, uid)}`;
}

/** Names the first file of a database that this process may not read and write, and what to do; undefined if there is none. */
export function deniedFile(folder: string): string | undefined {
  const path = findDenied(folder);
  if (path === undefined) return undefined;
  const [owner, uid] = [ownerOf(path), process.geteuid?.()];
  const dataDir = dirname(folder);
  if (uid === undefined || owner === undefined || owner === uid)
    return `Its owner has no right to ${path}: \`chmod -R u+rwX ${shellWord(dataDir)}\``;
  return `${path} ${ownership(owner, uid)}. Give this user the whole folder: ${takeOver(dataDir, uid)}`;
}

function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid;
  } catch {
    return undefined;
  }
}

function findDenied(path: string): string | undefined {
  try {
    const isFolder = statSync(path).isDirectory();
    accessSync(path, constants.R_OK | constants.W_OK | (isFolder ? constants.X_OK : 0));
    if (!isFolder) return undefined;
    for (const name of readdirSync(path)) {
      const denied = findDenied(join(path, name));
      if (denied !== undefined) return denied;
    }
    return undefined;
  } catch (error) {
    return codeOf(error) === "EACCES" ? path : undefined;
  }
}

function ownership(owner: number, uid: number): string {
  return `belongs to ${shownUser(owner)}, and this process runs as ${shownUser(uid)}`;
}

function advice(dataDir: string, owner: number, uid: number): string {
  if (owner === 0)
    return `If the service runs as root, so must this; otherwise give this user the folder: ${takeOver(dataDir, uid)}`;
  const asOwner = `run it as that user: \`sudo -u ${userName(owner) ?? `'#${owner}'`} mucast …\`, or in a container with \`--user ${owner}\``;
  return uid === 0
    ? `With files of root there, the service of that user could not start; ${asOwner}`
    : `Instead, ${asOwner}`;
}

function takeOver(dataDir: string, uid: number): string {
  return `\`sudo chown -R ${userName(uid) ?? uid} ${shellWord(dataDir)}\``;
}

function shownUser(uid: number): string {
  const name = userName(uid);
  return name === undefined ? `uid ${uid}` : `${name} (uid ${uid})`;
}

/** The name in the system's list of users. Node has no function for another user's name. */
function userName(uid: number): string | undefined {
  try {
    const users = readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .map((line) => line.split(":"));
    return users.find(([, , id]) => id === String(uid))?.[0];
  } catch {
    return undefined;
  }
}
