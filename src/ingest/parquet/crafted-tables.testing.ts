import { parquetMetadata } from "hyparquet";
import { ByteWriter } from "hyparquet-writer";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import { writeMetadata } from "hyparquet-writer/src/metadata.js";

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
