import { PGlite } from "@electric-sql/pglite";
import { NodeFS } from "@electric-sql/pglite/nodefs";

const SEARCH_PATH = "create schema if not exists mucast; set search_path to mucast, public;";

/** The exit status with which PostgreSQL in PGlite jumps out of a failed statement. */
const LONG_JUMP = 100;

/** PostgreSQL inside this process, until it is closed or crashes. */
export interface PgliteInstance {
  readonly lite: PGlite;
  /** Whether PostgreSQL has panicked, for example because it cannot write its log. Then every statement throws. */
  readonly crashed: () => boolean;
  /** Closes the files of a crashed instance and frees its memory, as the end of its process would. */
  readonly release: () => void;
}

/**
 * Starts PostgreSQL on the files of a folder; it recovers committed changes of an earlier instance from its log. @param onAccess is
 * called before each access to a file.
 */
export async function startInstance(folder: string, onAccess: () => void): Promise<PgliteInstance> {
  const files = new DatabaseFiles(folder, onAccess);
  const lite = new PGlite({ fs: files });
  const release = () => {
    files.release();
    // Like the first step of PGlite's own close. Without it, Node keeps the 140 MiB of each crashed instance.
    lite.Module?._pgl_setPGliteActive?.(0);
  };
  try {
    await lite.waitReady;
    const crashed = stopAtCrash(lite);
    await lite.exec(SEARCH_PATH);
    return { lite, crashed, release };
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * PGlite catches anything that ends a statement, and continues until PostgreSQL has read its whole message. After a panic, which ends
 * the process of a server, it would run PostgreSQL in a broken state, or run forever without reading. This makes every statement
 * after a panic throw.
 * @returns whether it has panicked.
 */
function stopAtCrash(lite: PGlite): () => boolean {
  const module = lite.Module;
  const { _PostgresMainLoopOnce: runOnce, _PostgresMainLongJmp: longJump } = module;
  let crash: { readonly cause: unknown } | undefined;
  module._PostgresMainLoopOnce = () => {
    // PGlite answers a long jump with the function below, whose errors it does not catch.
    if (crash) throw { status: LONG_JUMP };
    try {
      runOnce();
    } catch (cause) {
      if (!isLongJump(cause)) crash = { cause };
      throw cause;
    }
  };
  module._PostgresMainLongJmp = () => {
    if (crash) throw new Error("PostgreSQL has crashed", crash);
    longJump();
  };
  return () => crash !== undefined;
}

function isLongJump(error: unknown): boolean {
  return typeof error === "object" && error !== null && "status" in error && error.status === LONG_JUMP;
}

type Options = Parameters<NodeFS["init"]>[1];

interface Stream {
  readonly fd: number;
  /** The descriptor of this process. */
  readonly nfd?: number;
}

type Operations = Record<string, (...operands: never[]) => unknown>;

/** The part of Emscripten's file systems, in PGlite 0.5, that PGlite's types omit. */
interface FileSystems {
  readonly FS: {
    readonly streams: readonly (Stream | null | undefined)[];
    lookupNode(parent: unknown, name: string): unknown;
    destroyNode(node: unknown): void;
    close(stream: Stream): void;
    closeStream(fd: number): void;
  };
  readonly NODEFS: {
    readonly node_ops: Operations & {
      mknod(parent: unknown, name: string, mode: number, device: number): unknown;
    };
    readonly stream_ops: Operations & { open(stream: Stream): void };
  };
}

/**
 * The files of a PGlite in a folder. A file that could not be created or opened (no space, inode, descriptor or permission) leaves
 * nothing in memory, so that PostgreSQL can create or open it when the fault is gone.
 */
export class DatabaseFiles extends NodeFS {
  readonly #onAccess: () => void;
  #systems: FileSystems | undefined;

  /** @param onAccess is called before each access to a file. */
  constructor(folder: string, onAccess: () => void = () => undefined) {
    super(folder);
    this.#onAccess = onAccess;
  }

  override async init(lite: PGlite, options: Options): ReturnType<NodeFS["init"]> {
    const { emscriptenOpts } = await super.init(lite, options);
    const forget = (module: unknown) => {
      this.#systems = module as FileSystems;
      forgetFailures(this.#systems);
      guard(this.#systems, this.#onAccess);
    };
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), forget] } };
  }

  /** Closes the descriptors of a database that has stopped without closing them. */
  release(): void {
    for (const stream of this.#systems?.FS.streams ?? []) {
      if (stream?.nfd === undefined) continue;
      try {
        this.#systems!.FS.close(stream);
      } catch {
        // It is closed for this process, even if the system reports a failed write.
      }
    }
  }
}

function forgetFailures({ FS, NODEFS }: FileSystems): void {
  const { mknod } = NODEFS.node_ops;
  // Emscripten adds a name to its table before it creates the file, and would then always report `File exists`.
  NODEFS.node_ops.mknod = (parent, name, mode, device) => {
    try {
      return mknod(parent, name, mode, device);
    } catch (error) {
      FS.destroyNode(FS.lookupNode(parent, name));
      throw error;
    }
  };
  const { open } = NODEFS.stream_ops;
  // Emscripten counts a file as open before it opens it, and allows 4,096.
  NODEFS.stream_ops.open = (stream) => {
    try {
      open(stream);
    } catch (error) {
      FS.closeStream(stream.fd);
      throw error;
    }
  };
}

/** A process may be frozen in the middle of a statement, and then continue to write when another one has the folder. */
function guard({ NODEFS }: FileSystems, onAccess: () => void): void {
  for (const operations of [NODEFS.node_ops, NODEFS.stream_ops]) {
    for (const [name, operation] of Object.entries<Operations[string]>(operations)) {
      operations[name] = (...operands) => {
        onAccess();
        return operation(...operands);
      };
    }
  }
}
