import type { PGlite } from "@electric-sql/pglite";
import { NodeFS } from "@electric-sql/pglite/nodefs";

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
