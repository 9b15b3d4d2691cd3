import { createHash, randomBytes } from "node:crypto";
import { accessSync, constants, lstatSync, readFileSync, readlinkSync } from "node:fs";
import { link, open, readdir, rename, rmdir, stat, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import { startTimeOf } from "../../contract/machine/process-stat.ts";
import { outputFailed, throwIfAborted } from "../blob-errors.ts";
import { blocksOf, type Content } from "../store.ts";

const BLOCK_BYTES = 2 ** 20;

/** A complete file on disk under a hidden name beside its target, not yet visible as the target. */
export interface StagedFile {
  readonly path: string;
  readonly target: string;
  /** The name of the target in errors. */
  readonly shown: string;
  /** The topmost folder that was created for it. */
  readonly madeFolder: string | undefined;
}

interface StageOptions {
  readonly signal?: AbortSignal | undefined;
  /** Limit in bytes; one more is too_large. */
  readonly limit?: number | undefined;
  /** The name of the file in errors; by default its path. */
  readonly shown?: string;
  /** Accessible to its owner only: 0600, and 0700 for created folders; by default the umask decides. */
  readonly isPrivate?: boolean;
  /** A folder above it that must exist; it is not created. */
  readonly root?: string | undefined;
}

/**
 * Writes `content` to a hidden file beside `folder/name` and flushes it to disk. The folder is created if needed, and staged files of
 * killed processes in it are removed. On any error, the file and the created folders are removed again.
 * @throws MucastError output_failed, too_large; or errors of `content` and the signal.
 */
export async function stageFile(
  folder: string,
  name: string,
  content: Content,
  { signal, limit, shown = join(folder, name), isPrivate = false, root }: StageOptions = {},
): Promise<StagedFile> {
  const target = join(folder, name);
  if (basename(target) !== name) throw new MucastError("internal", `"${name}" is not a plain file name`);
  const hidden = join(folder, `.${name}.${ownMark()}-${randomBytes(6).toString("hex")}.tmp`);
  const madeFolder = await onDisk(
    shown,
    (async () => makeFolder(folder, isPrivate ? 0o700 : 0o777, root))().catch((error: unknown) => {
      throw folderObstacle(folder, error);
    }),
  );
  const staged: StagedFile = { path: hidden, target, shown, madeFolder };
  try {
    if (madeFolder === undefined) await sweepStaged(folder);
    const handle = await onDisk(shown, open(hidden, "wx", isPrivate ? 0o600 : 0o666));
    try {
      for await (const block of blocksOf(content, { size: BLOCK_BYTES, name: shown, limit })) {
        throwIfAborted(signal, "writing", shown);
        await onDisk(shown, handle.writeFile(block));
      }
      throwIfAborted(signal, "writing", shown);
      await onDisk(shown, handle.sync());
    } finally {
      await onDisk(shown, handle.close());
    }
    return staged;
  } catch (error) {
    await discardStaged(staged);
    throw error;
  }
}

/**
 * Gives a staged file its name without replacing another file: readers see all of it or nothing. On a file system without hard links (some
 * network mounts), an empty file reserves the name first.
 * @param hardLink creates the link; a parameter for tests, because such a file system is not available everywhere.
 * @returns false if the name exists already; the staged file then remains.
 * @throws MucastError output_failed, with the staged file gone.
 */
export async function publishStaged(staged: StagedFile, hardLink: typeof link = link): Promise<boolean> {
  try {
    if (!(await nameExclusively(staged, hardLink))) return false;
  } catch (error) {
    await discardStaged(staged);
    throw outputFailed(staged.shown, causeOf(error), error);
  }
  await flushFolder(dirname(staged.target));
  return true;
}

/**
 * Gives a staged file its name and replaces the file that has it: readers see either the complete old one or the complete new one.
 * @throws MucastError output_failed, with the staged file gone.
 */
export async function replaceByStaged(staged: StagedFile): Promise<void> {
  try {
    await rename(staged.path, staged.target);
  } catch (error) {
    await discardStaged(staged);
    throw outputFailed(staged.shown, causeOf(error), error);
  }
  await flushFolder(dirname(staged.target));
}

/** Errors are ignored: the name exists already, and not every file system allows its folders to be opened or flushed. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, "r").catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}

const NO_HARD_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

async function nameExclusively({ path, target }: StagedFile, hardLink: typeof link): Promise<boolean> {
  try {
    await hardLink(path, target);
    await unlink(path).catch(() => undefined);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    if (!NO_HARD_LINKS.has(codeOf(error) ?? "")) throw error;
  }
  try {
    await (await open(target, "wx")).close();
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
  try {
    await rename(path, target);
  } catch (error) {
    await unlink(target);
    throw error;
  }
  return true;
}

/** Removes a staged file, and the folders created for it if they are empty. */
export async function discardStaged(staged: StagedFile): Promise<void> {
  await unlink(staged.path).catch(() => undefined);
  if (staged.madeFolder === undefined) return;
  for (let folder = dirname(staged.target); ; folder = dirname(folder)) {
    const removed = await rmdir(folder).then(
      () => true,
      () => false,
    );
    if (!removed || folder === staged.madeFolder) return;
  }
}

async function onDisk<T>(shown: string, action: Promise<T>): Promise<T> {
  try {
    return await action;
  } catch (error) {
    throw outputFailed(shown, causeOf(error), error);
  }
}

/**
 * Why a folder cannot be created, given the error of `mkdir`: on a read-only file system, Node says only that the folder does not exist
 * (ENOENT).
 * @returns the error of writing to the nearest existing parent; `error` itself if that is writable.
 */
export function folderObstacle(folder: string, error: unknown): unknown {
  if (codeOf(error) !== "ENOENT") return error;
  let nearest = folder;
  while (lstatSync(nearest, { throwIfNoEntry: false }) === undefined && dirname(nearest) !== nearest) {
    nearest = dirname(nearest);
  }
  try {
    accessSync(nearest, constants.W_OK | constants.X_OK);
    return error;
  } catch (obstacle) {
    return obstacle;
  }
}

const STAGED = /^\..+\.([0-9a-f]{8}-\d+-\d+)-[0-9a-f]{12}\.tmp$/;

/** A file that was not written to for this long has no writer any more, on any machine. */
const ABANDONED_MS = 24 * 3_600_000;

const swept = new Set<string>();

/** Removes the staged files of killed processes from a folder, once for each folder and process: a later process removes later ones. */
async function sweepStaged(folder: string): Promise<void> {
  if (swept.has(folder)) return;
  swept.add(folder);
  // A folder that is writable but cannot be listed is no reason to write nothing.
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const mark = STAGED.exec(name)?.[1];
    if (mark === undefined) continue;
    const path = join(folder, name);
    // Another writer may be removing files too, or just giving its file its name.
    if (isGone(mark) || (await isAbandoned(path))) await unlink(path).catch(() => undefined);
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  return stats !== undefined && Date.now() - stats.mtimeMs > ABANDONED_MS;
}

/** Identifies a process among all that may write to one folder, by machine, pid and start time: `<machine>-<pid>-<start>`. */
export function ownMark(): string {
  return `${machine()}-${process.pid}-${startTimeOf(process.pid) ?? 0}`;
}

/** @returns true if the process of a mark was one of this machine and is not running any more. */
export function isGone(mark: string): boolean {
  const [, pid, start] = mark.split("-");
  return isOfThisMachine(mark) && startTimeOf(Number(pid)) !== start;
}

/** Whether the process of a mark is, or was, one of this boot and namespace. */
export function isOfThisMachine(mark: string): boolean {
  return mark.split("-")[0] === machine();
}

let known: string | undefined;

/** Pids are meaningful only within one boot and one namespace: containers may share a folder, but not a pid. */
function machine(): string {
  known ??= createHash("sha256").update(machineFacts().join("\n")).digest("hex").slice(0, 8);
  return known;
}

function machineFacts(): string[] {
  if (process.platform !== "linux") return [hostname()];
  const boot = readable(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  return [hostname(), boot, readable(() => readlinkSync("/proc/self/ns/pid"))];
}

/** Empty for a file that a sandbox hides; the other facts identify the machine well enough. */
function readable(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
