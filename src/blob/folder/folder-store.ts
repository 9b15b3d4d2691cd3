import { type BigIntStats, constants, type Dirent } from "node:fs";
import { access, type FileHandle, lstat, readdir, realpath, unlink } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { changed, nameTaken, outputFailed, throwIfAborted } from "../blob-errors.ts";
import { checkSpace, spaceIn } from "../names.ts";
import {
  type Content,
  checkKey,
  type JobStore,
  type ListedBlob,
  placeOf,
  type ReadPart,
  type StoredBlob,
  type StoredBytes,
  type StoreWrite,
} from "../store.ts";
import { type FileState, readHandle, stateOf } from "./local-file.ts";
import { checkOutput } from "./output-folder.ts";
import { openRegularFile } from "./regular-file.ts";
import { discardStaged, publishStaged, replaceByStaged, stageFile } from "./staged-file.ts";

/** Many readers may pause for a while: each holds at most one chunk, which is read when the reader asks for it. */
const CHUNK_BYTES = 64 * 2 ** 10;

/**
 * Blobs as files `data/<name>` and `status/<name>` of a folder, or of a space in it, which is created at the first write. Only their owner
 * has access to files and folders, under any umask. Links out of it are not followed, and errors name a blob by its URL, not by its path.
 */
export class FolderStore implements JobStore {
  readonly url: string;
  readonly #folder: string;
  readonly #space: string;
  readonly #root: string | undefined;

  /** @param root a folder that must exist, `folder` or one above it; without it, nothing is written. */
  constructor(folder: string, url: string, space = "", root?: string) {
    this.#folder = folder;
    this.#space = checkSpace(space);
    this.url = url;
    this.#root = root;
  }

  /** The URL of a space is the same if the URL only maps to the folder: a request's credentials name the space. */
  within(space: string): FolderStore {
    const url = space !== "" && this.url.startsWith("file:") ? `${this.url}/${space}` : this.url;
    return new FolderStore(this.#folder, url, space, this.#root);
  }

  async stat(key: string): Promise<StoredBlob | undefined> {
    const found = await this.#find(key);
    await found?.handle.close();
    return found && { size: found.state.size, etag: found.etag };
  }

  async open(key: string): Promise<StoredBytes> {
    const { handle, state } = await this.#get(key);
    const chunks = readHandle(handle, this.#name(key), state);
    return { size: state.size, encoded: false, chunks, close: () => handle.close() };
  }

  async *read(key: string, { start = 0, end, etag, signal }: ReadPart = {}): AsyncGenerator<Uint8Array> {
    const { handle, state, etag: found } = await this.#get(key);
    const name = this.#name(key);
    if (etag !== undefined && etag !== found) {
      await handle.close();
      throw changed(name);
    }
    const span = { start, end: end ?? state.size, chunkBytes: CHUNK_BYTES, ahead: false };
    for await (const chunk of readHandle(handle, name, state, span)) {
      throwIfAborted(signal, "reading", name);
      yield chunk;
    }
  }

  async put(key: string, content: Content, options: StoreWrite = {}) {
    const { staged, etag } = await this.#stage(key, content, options);
    const created = await publishStaged(staged);
    if (!created) await replaceByStaged(staged);
    return { created, etag };
  }

  async create(key: string, content: Content, options: StoreWrite = {}) {
    const { staged, etag } = await this.#stage(key, content, options);
    if (await publishStaged(staged)) return { etag };
    await discardStaged(staged);
    throw nameTaken(staged.shown);
  }

  async remove(key: string): Promise<void> {
    try {
      await unlink(await this.#path(key));
    } catch (error) {
      if (!isMissing(error)) throw outputFailed(this.#name(key), causeOf(error), error);
    }
  }

  async *list(): AsyncGenerator<ListedBlob> {
    const spaces = (await this.#entries("")).filter(
      (entry) => entry.isDirectory() && spaceIn(entry.name) === entry.name,
    );
    for (const space of ["", ...spaces.map(({ name }) => name)]) {
      for (const folder of [join(space, "data"), join(space, "status")]) yield* this.#listFolder(folder);
    }
  }

  async *#listFolder(folder: string): AsyncGenerator<ListedBlob> {
    for (const entry of await this.#entries(folder)) {
      const path = join(folder, entry.name);
      const place = entry.isFile() ? placeOf(path) : undefined;
      // One that has been removed since is none any more.
      const found = place && (await lstat(join(this.#folder, path)).catch(() => undefined));
      if (found) yield { ...place, size: found.size, modifiedAt: found.mtime };
    }
  }

  /** The entries of a folder of the storage; none if there is no such folder, or a link in its place. */
  async #entries(folder: string): Promise<Dirent[]> {
    const path = join(this.#folder, folder);
    try {
      const isOwn = folder === "" || (await lstat(path)).isDirectory();
      return isOwn ? await readdir(path, { withFileTypes: true }) : [];
    } catch (error) {
      if (isMissing(error)) return [];
      const message = `${this.url}/${folder} cannot be listed: ${causeOf(error)}`;
      throw new MucastError("blob_unavailable", message, { source: this.url }, { cause: error });
    }
  }

  async checkNew(key: string): Promise<void> {
    const path = await this.#writable(key);
    await checkOutput(dirname(path), basename(path), this.#name(key));
  }

  async close(): Promise<void> {
    // Nothing is kept open.
  }

  #name(key: string): string {
    return `${this.url}/${checkKey(key)}`;
  }

  /** @throws an ELOOP if the space, `data` or `status` is a link. */
  async #path(key: string): Promise<string> {
    const path = join(this.#folder, this.#space, checkKey(key));
    const folder = dirname(path);
    const real = await realpath(folder).catch((error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    const within = relative(this.#folder, folder);
    if (real === undefined || real === join(await realpath(this.#folder), within)) return path;
    throw Object.assign(new Error("a link out of the folder of the blobs"), { code: "ELOOP" });
  }

  async #writable(key: string): Promise<string> {
    const exists = this.#root === undefined ? Promise.resolve() : access(this.#root);
    return exists
      .then(() => this.#path(key))
      .catch((error: unknown) => {
        throw outputFailed(this.#name(key), causeOf(error), error);
      });
  }

  async #stage(key: string, content: Content, { signal, limit }: StoreWrite) {
    const path = await this.#writable(key);
    const shown = this.#name(key);
    const options = { signal, limit, shown, isPrivate: true, root: this.#root };
    const staged = await stageFile(dirname(path), basename(path), content, options);
    return { staged, etag: etagOf(staged.stats) };
  }

  async #get(key: string) {
    const found = await this.#find(key);
    const source = this.#name(key);
    if (found !== undefined) return found;
    throw new MucastError("blob_not_found", `${source} does not exist`, { source });
  }

  async #find(key: string): Promise<OpenedFile | undefined> {
    try {
      return await openOwnFile(await this.#path(key));
    } catch (error) {
      if (isMissing(error)) return undefined;
      const source = this.#name(key);
      const message = `${source} cannot be read: ${causeOf(error)}`;
      throw new MucastError("blob_unavailable", message, { source }, { cause: error });
    }
  }
}

interface OpenedFile {
  readonly handle: FileHandle;
  readonly state: FileState;
  readonly etag: string;
}

/** Follows no link. */
async function openOwnFile(path: string): Promise<OpenedFile> {
  const { handle, stats } = await openRegularFile(path, constants.O_NOFOLLOW);
  return { handle, state: stateOf(stats), etag: etagOf(stats) };
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR";
}

/**
 * The entity tag of a file: it stays the same as long as the bytes do, even across restarts. Each version is another file; one that gets
 * the inode number of an earlier version has another time, unless both were written within one tick of the file system's clock. (The
 * inode's change time would not do: naming the file changes it.)
 */
function etagOf({ ino, size, mtimeNs }: BigIntStats): string {
  return `"${[ino, size, mtimeNs].map((part) => part.toString(36)).join("-")}"`;
}
