import { randomBytes } from "node:crypto";
import { link, mkdir, open, rename, rmdir, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { MucastError } from "../contract/errors.ts";
import { outputFailed } from "./output-folder.ts";
import { causeOf, codeOf } from "./system-error.ts";

/** Text is written as UTF-8. */
export type Piece = Uint8Array | string;
export type Content = Piece | AsyncIterable<Piece> | Iterable<Piece>;

/** A file that is whole and on disk under a hidden name beside its target, not visible as the target yet. */
export interface StagedFile {
  readonly path: string;
  readonly target: string;
  /** The topmost folder that was made for it. */
  readonly madeFolder: string | undefined;
}

/**
 * Writes `content` to a hidden file beside `folder/name` and flushes it to disk. The folder is made if needed.
 * On any error, the file and the folders made are gone again.
 * @throws MucastError output_failed; or what `content` or the signal throws.
 */
export async function stageFile(
  folder: string,
  name: string,
  content: Content,
  signal?: AbortSignal,
): Promise<StagedFile> {
  const target = join(folder, name);
  if (basename(target) !== name) throw new MucastError("internal", `"${name}" is not a plain file name`);
  const hidden = join(folder, `.${name}.${process.pid}-${randomBytes(6).toString("hex")}.tmp`);
  const madeFolder = await onDisk(target, mkdir(folder, { recursive: true }));
  const staged: StagedFile = { path: hidden, target, madeFolder };
  try {
    const handle = await onDisk(target, open(hidden, "wx", 0o644));
    try {
      for await (const block of blocks(content)) {
        if (signal?.aborted) throw canceled(target, signal);
        await onDisk(target, handle.writeFile(block));
      }
      await onDisk(target, handle.sync());
    } finally {
      await onDisk(target, handle.close());
    }
    return staged;
  } catch (error) {
    await discardStaged(staged);
    throw error;
  }
}

/**
 * Gives a staged file its name, never replacing another: seen by others whole or not at all. On a file system
 * without hard links (some network mounts) an empty file reserves the name for the moment before.
 * @param hardLink makes the link; a parameter only because such a file system is not at hand everywhere.
 * @returns false, with the staged file still there, where the name exists already.
 * @throws MucastError output_failed, with the staged file gone.
 */
export async function publishStaged(staged: StagedFile, hardLink: typeof link = link): Promise<boolean> {
  try {
    if (!(await nameExclusively(staged, hardLink))) return false;
  } catch (error) {
    await discardStaged(staged);
    throw outputFailed(staged.target, causeOf(error), error);
  }
  await flushFolder(dirname(staged.target));
  return true;
}

/** The name is there already; not every file system lets its folders be opened or flushed, so errors are none. */
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

/** Removes a staged file, and the folders made for it where nothing else has come into them. */
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

const BLOCK_BYTES = 2 ** 20;

/** Joins small pieces, so that a write is worth its system call. */
async function* blocks(content: Content): AsyncGenerator<Uint8Array> {
  const pieces = typeof content === "string" || content instanceof Uint8Array ? [content] : content;
  let held: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    const block = typeof piece === "string" ? Buffer.from(piece) : piece;
    held.push(block);
    bytes += block.length;
    if (bytes < BLOCK_BYTES) continue;
    yield Buffer.concat(held);
    held = [];
    bytes = 0;
  }
  yield Buffer.concat(held);
}

async function onDisk<T>(target: string, action: Promise<T>): Promise<T> {
  try {
    return await action;
  } catch (error) {
    throw outputFailed(target, causeOf(error), error);
  }
}

function canceled(target: string, signal: AbortSignal): MucastError {
  if (signal.reason instanceof MucastError) return signal.reason;
  return new MucastError("canceled", `writing ${target} was cancelled`, { path: target });
}
