import { createHash } from "node:crypto";
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
 * number of operations.
 */
const ROWS: Readonly<Record<string, string>> = {
  events: `from mucast.events t join mucast.operations o on o.id = t.operation_id
    where (o.finished_at is null or t.seq = o.last_seq or exists (
      select 1 from mucast.webhook_deliveries d
      where d.operation_id = t.operation_id and d.seq = t.seq and d.delivered_at is null and d.failed_at is null
    ))`,
  // They are valid for a minute.
  report_links: "from mucast.report_links t where false",
};

/** Pages of 8 KiB that one statement reads, since PGlite blocks the event loop during a statement. */
const SLICE_PAGES = 128;

/** A reader of the omitted events gets a snapshot instead. */
const VALUES: Readonly<Record<string, string>> = {
  "operations.pruned_seq":
    "case when t.finished_at is null then t.pruned_seq else greatest(t.pruned_seq, t.last_seq - 1) end",
};

/** Reads all tables in one consistent state. All other statements wait meanwhile. */
export async function dumpTables(statements: Transaction): Promise<Dump> {
  const columns = await columnsOf(statements);
  const tables: Uint8Array[] = [];
  const described: { name: string; columns: string[]; bytes: number }[] = [];
  for (const [name, own] of Map.groupBy(columns, ({ table }) => table)) {
    const values = own.map(({ column }) => VALUES[`${name}.${column}`] ?? `t."${column}"`);
    const bytes = await copyTable(statements, name, values.join());
    tables.push(bytes);
    described.push({ name, columns: own.map(({ column }) => column), bytes: bytes.length });
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
    header: {
      mucast_dump: 1,
      mucast: MUCAST_VERSION,
      taken_at: now.toISOString(),
      schema,
      operations,
      sha256: digestOf({ tables: described, sequences }, tables),
      tables: described,
      sequences,
    },
    tables,
  };
}

/** The digest of a dump's rows and of what its header says about them. */
export function digestOf(
  { tables: described, sequences }: Pick<DumpHeader, "tables" | "sequences">,
  tables: readonly Uint8Array[],
): string {
  const digest = createHash("sha256").update(JSON.stringify({ described, sequences }));
  for (const bytes of tables) digest.update(bytes);
  return digest.digest("hex");
}

/** In the order of the pages, so that the same state gives the same bytes. */
async function copyTable(statements: Transaction, name: string, values: string): Promise<Uint8Array> {
  const { rows } = await statements.query<{ pages: number }>(
    "select (pg_relation_size($1::regclass) / current_setting('block_size')::int)::int as pages",
    [`mucast."${name}"`],
  );
  const from = ROWS[name] ?? `from mucast."${name}" t where true`;
  const slices: Buffer[] = [];
  for (let page = 0; page < rows[0]!.pages; page += SLICE_PAGES) {
    const range = `t.ctid >= '(${page},0)'::tid and t.ctid < '(${page + SLICE_PAGES},0)'::tid`;
    const { blob } = await statements.query(`copy (select ${values} ${from} and ${range}) to '/dev/blob'`);
    // PGlite returns none for no rows.
    if (blob !== undefined) slices.push(Buffer.from(await blob.arrayBuffer()));
    await nextTurn();
  }
  return Buffer.concat(slices);
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
