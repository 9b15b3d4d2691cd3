import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";

/** What sorting and writing may hold in memory before it goes to the folder, in MiB. */
const MEMORY = 512;

/**
 * A DuckDB that can read and write the given files, keeps what does not fit into memory in a folder, and can open nothing else.
 * @param folder private, in which no file remains.
 */
export class Tables {
  readonly connection: DuckDBConnection;
  readonly #instance: DuckDBInstance;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.connection = connection;
  }

  static async open(paths: readonly string[], folder: string, memory = MEMORY): Promise<Tables> {
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
    return new Tables(instance, connection);
  }

  close(): void {
    this.connection.closeSync();
    this.#instance.closeSync();
  }
}

export function textLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export function nameLiteral(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
