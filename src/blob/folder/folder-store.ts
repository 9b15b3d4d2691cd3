import { type BigIntStats, constants, type Dirent } from "node:fs";
import { access, lstat, readdir, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { causeOf, codeOf } from "../../contract/errors/system-error.ts";
import { changed, outputFailed, throwIfAborted } from "../blob-errors.ts";
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
import { type OpenFile, openFile, readFile, readWhole } from "./local-file.ts";
import { checkOutput } from "./output-folder.ts";
import { createFile, publishStaged, replaceByStaged, stageFile } from "./staged-file.ts";

/** Many readers may pause for a while: each holds no more than two chunks. */
const CHUNK_BYTES = 64 * 2 ** 10;

/**
 * Blobs as files `data/<name>` and `status/<name>` of a folder, or of a space in it, which is created at the first write. Only their owner
 * has access to files and folders, under any umask. A link in place of a blob is not followed. Errors name a blob by its URL, not by its
 * path.
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
    return found && { size: Number(found.stats.size), etag: etagOf(found.stats) };
  }

  async open(key: string): Promise<StoredBytes> {
    return readWhole(await this.#get(key), this.#name(key));
  }

  async *read(key: string, { start, end, etag, signal }: ReadPart = {}): AsyncGenerator<Uint8Array> {
    const file = await this.#get(key);
    const name = this.#name(key);
    if (etag !== undefined && etag !== etagOf(file.stats)) {
      await file.handle.close();
      throw changed(name);
    }
    for await (const chunk of readFile(file, name, { start, end }, CHUNK_BYTES)) {
      throwIfAborted(signal, "reading", name);
      yield chunk;
    }
  }

  async put(key: string, content: Content, options: StoreWrite = {}) {
    const staged = await stageFile(...this.#target(key), content, this.#options(key, options));
    const created = await publishStaged(staged);
    if (!created) await replaceByStaged(staged);
    return { created, etag: etagOf(staged.stats) };
  }

  async create(key: string, content: Content, options: StoreWrite = {}) {
    const { stats } = await createFile(...this.#target(key), content, this.#options(key, options));
    return { etag: etagOf(stats) };
  }

  async checkNew(key: string): Promise<void> {
    const shown = this.#name(key);
    const root = this.#root === undefined ? undefined : access(this.#root);
    await root?.catch((error: unknown) => {
      throw outputFailed(shown, causeOf(error), error);
    });
    await checkOutput(...this.#target(key), shown);
  }

  async remove(key: string): Promise<void> {
    try {
      await unlink(join(...this.#target(key)));
    } catch (error) {
      if (!isMissing(error)) throw outputFailed(this.#name(key), causeOf(error), error);
    }
  }

  async *list(): AsyncGenerator<ListedBlob> {
    const folders = (await this.#entries("")).filter((entry) => entry.isDirectory());
    const spaces = folders.map(({ name }) => name).filter((name) => spaceIn(name) === name);
    for (const folder of ["", ...spaces].flatMap((space) => [join(space, "data"), join(space, "status")])) {
      for (const entry of await this.#entries(folder)) {
        const path = join(folder, entry.name);
        const place = entry.isFile() ? placeOf(path) : undefined;
        // One that has been removed since is none any more.
        const found = place && (await lstat(join(this.#folder, path)).catch(() => undefined));
        if (found) yield { ...place, size: found.size, modifiedAt: found.mtime };
      }
    }
  }

  /** The entries of a folder of the storage; none if there is no such folder. */
  async #entries(folder: string): Promise<Dirent[]> {
    try {
      return await readdir(join(this.#folder, folder), { withFileTypes: true });
    } catch (error) {
      if (isMissing(error)) return [];
      const message = `${this.url}/${folder} cannot be listed: ${causeOf(error)}`;
      throw new MucastError("blob_unavailable", message, { source: this.url }, { cause: error });
    }
  }

  async close(): Promise<void> {
    // Nothing is kept open.
  }

  #name(key: string): string {
    return `${this.url}/${checkKey(key)}`;
  }

  #target(key: string): [folder: string, name: string] {
    const path = join(this.#folder, this.#space, checkKey(key));
    return [dirname(path), basename(path)];
  }

  #options(key: string, { signal, limit }: StoreWrite) {
    return { signal, limit, shown: this.#name(key), isPrivate: true, root: this.#root };
  }

  async #get(key: string): Promise<OpenFile> {
    const found = await this.#find(key);
    if (found !== undefined) return found;
    const source = this.#name(key);
    throw new MucastError("blob_not_found", `${source} does not exist`, { source });
  }

  async #find(key: string): Promise<OpenFile | undefined> {
    try {
      return await openFile(join(...this.#target(key)), constants.O_NOFOLLOW);
    } catch (error) {
      if (isMissing(error)) return undefined;
      const source = this.#name(key);
      const message = `${source} cannot be read: ${causeOf(error)}`;
      throw new MucastError("blob_unavailable", message, { source }, { cause: error });
    }
  }
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
