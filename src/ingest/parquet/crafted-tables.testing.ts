import assert from "node:assert/strict";
import { parquetMetadata } from "hyparquet";
import { ByteWriter } from "hyparquet-writer";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import { writeMetadata } from "hyparquet-writer/src/metadata.js";
import type { tableBytes } from "./random-tables.testing.ts";

export type Metadata = ReturnType<typeof parquetMetadata>;
type PageHeader = Parameters<typeof writePageHeader>[1];

/** The same table with other metadata. */
export function withMetadata(bytes: Uint8Array, change: (metadata: Metadata) => void): Uint8Array {
  const metadata = parquetMetadata(new Uint8Array(bytes).buffer);
  const end = bytes.length - 8 - metadata.metadata_length;
  for (const { columns } of metadata.row_groups)
    for (const { meta_data } of columns) delete meta_data!.statistics;
  change(metadata);
  return joined(bytes.subarray(0, end), metadata);
}

/** A page with any header, and the bytes that follow it. */
export interface CraftedPage {
  readonly header: PageHeader;
  readonly body: Uint8Array;
}

/** A table whose first column has these pages. */
export function withPages(
  bytes: Uint8Array,
  pages: readonly CraftedPage[],
  codec: Codec = "UNCOMPRESSED",
): Uint8Array {
  const metadata = parquetMetadata(new Uint8Array(bytes).buffer);
  const writer = new ByteWriter();
  writer.appendBytes(bytes.subarray(0, bytes.length - 8 - metadata.metadata_length));
  const start = writer.offset;
  for (const { header, body } of pages) {
    writePageHeader(writer, header);
    writer.appendBytes(body);
  }
  const chunk = metadata.row_groups[0]!.columns[0]!.meta_data!;
  for (const { columns } of metadata.row_groups)
    for (const { meta_data } of columns) delete meta_data!.statistics;
  delete chunk.dictionary_page_offset;
  chunk.codec = codec;
  chunk.data_page_offset = BigInt(start);
  chunk.total_compressed_size = BigInt(writer.offset - start);
  return joined(writer.getBytes(), metadata);
}

type Codec = NonNullable<Metadata["row_groups"][number]["columns"][number]["meta_data"]>["codec"];

function joined(data: Uint8Array, metadata: Metadata): Uint8Array {
  const writer = new ByteWriter();
  writer.appendBytes(data);
  writeMetadata(writer, metadata);
  writer.appendBytes(Buffer.from("PAR1"));
  return new Uint8Array(writer.getBytes());
}

/** A column of a table that `tableBytes` writes. */
export type Column = Parameters<typeof tableBytes>[0][number];
/** A required column. */
export const column = (
  element: Column["element"],
  data: readonly unknown[],
  encoding: Column["encoding"] = "PLAIN",
) => ({
  element: { repetition_type: "REQUIRED" as const, ...element },
  data,
  encoding,
});

/** A table of three columns with another number of columns in the root of its schema, a zigzag number of one byte. */
export function withChildren(table: Uint8Array, count: number): Uint8Array {
  const bytes = new Uint8Array(table);
  const at = Buffer.from(bytes).lastIndexOf("root") + "root".length + 1;
  assert.equal(bytes[at], 2 * 3);
  bytes[at] = count < 0 ? -2 * count - 1 : 2 * count;
  return bytes;
}
