import { randomBytes } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { link, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { makeFolder } from "../../contract/machine/folders.ts";
import { nameTaken, outputFailed, throwIfAborted } from "../blob-errors.ts";
import { type Content, splitBlocks } from "../store.ts";

const BLOCK_BYTES = 2 ** 20;

/** A complete file on disk under a hidden name beside its target, not yet visible as the target. */
export interface StagedFile {
  readonly path: string;
  readonly target: string;
  /** The name of the target in errors. */
  readonly shown: string;
  /** The state of the complete file. */
  readonly stats: BigIntStats;
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
 * Writes a new file, completely or not at all: the name appears once, with all bytes flushed to disk. The folder is created only now.
 * @throws MucastError output_failed, also if the name exists; too_large; errors of `content` and the signal.
 */
export async function createFile(
  folder: string,
  name: string,
  content: Content,
  options: StageOptions = {},
): Promise<StagedFile> {
  const staged = await stageFile(folder, name, content, options);
  if (await publishStaged(staged)) return staged;
  await discardStaged(staged);
  throw nameTaken(staged.shown);
}

/**
 * Writes `content` to a hidden file beside `folder/name` and flushes it to disk. The folder is created if needed, and staged
 * files in it that are older than a day are removed. On any error, the file is removed again.
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
  const hidden = join(folder, `.${name}.${randomBytes(6).toString("hex")}.tmp`);
  const staged = { path: hidden, target, shown };
  try {
    makeFolder(folder, isPrivate ? 0o700 : 0o777, root);
    await sweepStaged(folder);
    const handle = await open(hidden, "wx", isPrivate ? 0o600 : 0o666);
    try {
      for await (const block of splitBlocks(content, { size: BLOCK_BYTES, name: shown, limit })) {
        throwIfAborted(signal, "writing", shown);
        await handle.writeFile(block);
      }
      throwIfAborted(signal, "writing", shown);
      await handle.sync();
      return { ...staged, stats: await handle.stat({ bigint: true }) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    await discardStaged(staged);
    const isOfSystem = /^E[A-Z0-9]+$/.test(codeOf(error) ?? "");
    throw isOfSystem ? outputFailed(shown, causeOf(error), error) : error;
  }
}

const NO_HARD_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/**
 * Gives a staged file its name without replacing another file: readers see all of it or nothing.
 * @returns false if the name exists already; the staged file then remains.
 * @throws MucastError output_failed, with the staged file gone.
 */
export async function publishStaged(staged: StagedFile): Promise<boolean> {
  try {
    await link(staged.path, staged.target);
  } catch (error) {
    const code = codeOf(error) ?? "";
    if (code === "EEXIST") return false;
    await discardStaged(staged);
    const noLinks = `the file system of its folder has no hard links (${code}); name a folder on another one`;
    throw outputFailed(staged.shown, NO_HARD_LINKS.has(code) ? noLinks : causeOf(error), error);
  }
  await unlink(staged.path).catch(() => undefined);
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

export async function discardStaged({ path }: Pick<StagedFile, "path">): Promise<void> {
  await unlink(path).catch(() => undefined);
}

/** Also matches the names of older versions, which end in the same way. */
const STAGED = /^\..+[.-][0-9a-f]{12}\.tmp$/;

/** A file that was not written to for this long has no writer any more. */
const ABANDONED_MS = 24 * 3_600_000;

const swept = new Set<string>();

/** Removes the staged files of killed processes from a folder, once for each folder and process: a later process removes later ones. */
async function sweepStaged(folder: string): Promise<void> {
  if (swept.has(folder)) return;
  swept.add(folder);
  // A folder that is writable but cannot be listed is no reason to write nothing, and another process may remove files too.
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const stats = STAGED.test(name) ? await stat(path).catch(() => undefined) : undefined;
    const isAbandoned = stats !== undefined && Date.now() - stats.mtimeMs > ABANDONED_MS;
    if (isAbandoned) await unlink(path).catch(() => undefined);
  }
}
