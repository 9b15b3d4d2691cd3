import { executionName, outputName } from "../../blob/names.ts";
import type { BlobStore } from "../../blob/store.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { OperationRow } from "../store/operation-row.ts";

/** Enough for what stands before the window, and for the provenance, of an output blob. */
const EDGE_BYTES = 16_384;

/**
 * The record of an output that an attempt left although nobody heard of its end; undefined where there is none with
 * the operation's id and config.
 */
export async function findOutput(whole: BlobStore, row: OperationRow): Promise<ResultRecord | undefined> {
  const store = whole.within(row.space);
  const name = outputName(row.operation, row.id);
  const key = `data/${name}`;
  const found = await store.stat(key);
  if (!found) return undefined;
  const head = await textOf(store.read(key, { end: Math.min(EDGE_BYTES, found.size), etag: found.etag }));
  const tail = await textOf(
    store.read(key, { start: Math.max(0, found.size - EDGE_BYTES), end: found.size, etag: found.etag }),
  );
  if (!isOf(row, head, tail)) return undefined;
  return {
    status: "Succeeded",
    output_url: `${store.url}/${key}`,
    output_name: name,
    execution_name: executionName(row.operation, row.id.slice(0, 8)),
  };
}

function isOf(row: OperationRow, head: string, tail: string): boolean {
  const id = /"id":\s*"([^"]*)"/.exec(head)?.[1];
  const digests = [...tail.matchAll(/"config_sha256":\s*"([0-9a-f]{64})"/g)];
  return id === row.id && digests.at(-1)?.[1] === row.config_sha256;
}

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}
