import { createHash, type Hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { PGlite, Transaction } from "@electric-sql/pglite";
import { MUCAST_VERSION } from "../../contract/version.ts";

/** The header of a dump, its first line. */
export interface DumpHeader {
  /** The version of the format. */
  readonly mucast_dump: 1;
  /** The program that wrote it. */
  readonly mucast: string;
  readonly taken_at: string;
  /** The version of the tables: the number of applied migrations. */
  readonly schema: number;
  readonly operations: number;
  /** SHA-256 of all rows: dumps of the same state have the same digest. */
  readonly sha256: string;
  readonly tables: readonly {
    readonly name: string;
    readonly columns: readonly string[];
    readonly bytes: number;
  }[];
  /** The last number that each identity column has assigned. */
  readonly sequences: readonly { readonly table: string; readonly column: string; readonly value: string }[];
}

/** The header before the rows are hashed. */
export type UnsealedHeader = Omit<DumpHeader, "sha256">;

/** Reads all tables, gives their rows to `write` piece by piece, and returns their header. */
export type DumpRows = (write: (rows: Uint8Array) => Promise<void>) => Promise<UnsealedHeader>;

/** The rows of all tables, each table in the format of PostgreSQL's COPY, in the order of the header. */
export interface Dump {
  readonly header: DumpHeader;
  readonly tables: readonly Uint8Array[];
}

interface Column {
  readonly table: string;
  readonly column: string;
  readonly identity: boolean;
}

/**
 * What a dump omits. Of an ended operation it keeps the last event, which contains the whole operation, so that a dump grows with the
 * number of operations. PostgreSQL looks up a subquery that is a value by its index. For a join or an `exists`, it reads the whole other
 * table, and would do that for each slice. With `coalesce`, it does not read the index of all deliveries that are due.
 */
const ROWS: Readonly<Record<string, string>> = {
  events: `from mucast.events t where (
      (select o.finished_at is null or t.seq = o.last_seq from mucast.operations o where o.id = t.operation_id)
      or (select true from mucast.webhook_deliveries d
        where d.operation_id = t.operation_id and d.seq = t.seq and coalesce(d.delivered_at, d.failed_at) is null limit 1))`,
  // They are valid for a minute.
  report_links: "from mucast.report_links t where false",
};

/**
 * Pages of 8 KiB that one statement reads, with the long values that PostgreSQL stores outside of them, since PGlite blocks the event loop
 * during a statement. PostgreSQL compresses long values, up to 90 times, so a page may stand for 3 MB.
 */
const SLICE_PAGES = 16;

/** A reader of the omitted events gets a snapshot instead. */
const VALUES: Readonly<Record<string, string>> = {
  "operations.pruned_seq":
    "case when t.finished_at is null then t.pruned_seq else greatest(t.pruned_seq, t.last_seq - 1) end",
};

/**
 * Reads all tables in one consistent state. All other statements wait meanwhile.
 * @param write gets the rows piece by piece: all of them may be larger than the memory.
 */
export async function dumpTables(
  statements: Transaction,
  write: (rows: Uint8Array) => Promise<void>,
): Promise<UnsealedHeader> {
  const columns = await columnsOf(statements);
  const described: { name: string; columns: string[]; bytes: number }[] = [];
  for (const [name, own] of Map.groupBy(columns, ({ table }) => table)) {
    const values = own.map(({ column }) => VALUES[`${name}.${column}`] ?? `t."${column}"`);
    let bytes = 0;
    for await (const slice of slicesOf(statements, name, values.join())) {
      bytes += slice.length;
      await write(slice);
    }
    described.push({ name, columns: own.map(({ column }) => column), bytes });
  }
  const sequences: { table: string; column: string; value: string }[] = [];
  for (const { table, column, identity } of columns) {
    if (!identity) continue;
    const value = await lastValue(statements, table, column);
    if (value !== null) sequences.push({ table, column, value });
  }
  const counts = await statements.query<{ operations: number; schema: number; now: Date }>(
    `select count(*)::int as operations, (select max(version) from mucast.migrations) as schema, now() as now
     from mucast.operations`,
  );
  const { operations, schema, now } = counts.rows[0]!;
  return {
    mucast_dump: 1,
    mucast: MUCAST_VERSION,
    taken_at: now.toISOString(),
    schema,
    operations,
    tables: described,
    sequences,
  };
}

/** The digest of a dump, without its rows: update it with all of them in order. */
export function digestOf({ tables: described, sequences }: Pick<DumpHeader, "tables" | "sequences">): Hash {
  return createHash("sha256").update(JSON.stringify({ described, sequences }));
}

/** In the order of the pages, so that the same state gives the same bytes. */
async function* slicesOf(statements: Transaction, name: string, values: string): AsyncGenerator<Uint8Array> {
  const { rows } = await statements.query<{ pages: number; all: number }>(
    `select (pg_relation_size(name) / page)::int as pages, (pg_table_size(name) / page)::int as all
     from (select $1::regclass as name, current_setting('block_size')::int as page) sizes`,
    [`mucast."${name}"`],
  );
  const { pages, all } = rows[0]!;
  const from = ROWS[name] ?? `from mucast."${name}" t where true`;
  const step = Math.max(1, Math.floor((SLICE_PAGES * pages) / all));
  for (let page = 0; page < pages; page += step) {
    const range = `t.ctid >= '(${page},0)'::tid and t.ctid < '(${page + step},0)'::tid`;
    const { blob } = await statements.query(`copy (select ${values} ${from} and ${range}) to '/dev/blob'`);
    // PGlite returns none for no rows.
    if (blob !== undefined) yield new Uint8Array(await blob.arrayBuffer());
    await nextTurn();
  }
}

/** Writes the rows of a dump into empty tables of its version. */
export async function loadTables(lite: PGlite, { header, tables }: Dump): Promise<void> {
  await lite.transaction(async (statements) => {
    // The tables come in any order: the original database has already checked their references.
    await statements.query("set local session_replication_role = replica");
    for (const [index, { name, columns }] of header.tables.entries()) {
      const names = columns.map((column) => `"${column}"`).join();
      if (tables[index]!.length === 0) continue;
      const blob = new Blob([Buffer.from(tables[index]!)]);
      await statements.query(`copy mucast."${name}" (${names}) from '/dev/blob'`, [], { blob });
    }
    for (const { table, column, value } of header.sequences) {
      await statements.query("select setval(pg_get_serial_sequence($1, $2), $3::bigint)", [
        `mucast."${table}"`,
        column,
        value,
      ]);
    }
  });
}

async function columnsOf(statements: Transaction): Promise<Column[]> {
  const { rows } = await statements.query<Column>(
    `select c.table_name as table, c.column_name as column, c.is_identity = 'YES' as identity
     from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'mucast' and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER'
       and c.table_name <> 'migrations'
     order by c.table_name, c.ordinal_position`,
  );
  return rows;
}

/** Null if it has assigned none. */
async function lastValue(statements: Transaction, table: string, column: string): Promise<string | null> {
  const { rows } = await statements.query<{ value: string | null }>(
    "select pg_sequence_last_value(pg_get_serial_sequence($1, $2)::regclass)::text as value",
    [`mucast."${table}"`, column],
  );
  return rows[0]!.value;
}
