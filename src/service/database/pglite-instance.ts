import { PGlite } from "@electric-sql/pglite";
import { DatabaseFiles } from "./pglite-files.ts";

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
