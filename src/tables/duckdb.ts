import { closeSync, openSync, unlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { workFolderError } from "../contract/errors/system-error.ts";

/** What sorting and writing may hold in memory before it goes to the folder, in MiB. */
const MEMORY = 512;

/**
 * Opens a DuckDB that can read and write the given files, keeps what does not fit into memory in a folder, and can open nothing else.
 * @param folder private, in which no file remains.
 */
export async function openTables(paths: readonly string[], folder: string, memory = MEMORY) {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const instance = await DuckDBInstance.create(":memory:", {
    threads: "1",
    memory_limit: `${memory}MiB`,
    temp_directory: folder,
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
  });
  const connection = await instance.connect();
  await connection.run(`SET allowed_paths = [${paths.map(textLiteral).join(", ")}]`);
  await connection.run("SET enable_external_access = false");
  await connection.run("SET lock_configuration = true");
  return {
    connection,
    close() {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** A new file in a private folder of its own. */
interface PrivateFile {
  readonly descriptor: number;
  readonly path: string;
  /** For what does not fit into memory. */
  readonly folder: string;
  close(): Promise<void>;
}

/** On Linux the file has no name, so that nothing of it remains if the process is killed. */
export async function openPrivateFile(parent: string): Promise<PrivateFile> {
  const folder = await mkdtemp(join(parent, "mucast-table-")).catch((error: unknown) => {
    throw workFolderError("written", error);
  });
  const name = join(folder, "table");
  const descriptor = openSync(name, "wx+", 0o600);
  const isNameless = process.platform === "linux";
  if (isNameless) unlinkSync(name);
  return {
    descriptor,
    path: isNameless ? `/proc/self/fd/${descriptor}` : name,
    folder,
    async close() {
      closeSync(descriptor);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function textLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export function nameLiteral(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
