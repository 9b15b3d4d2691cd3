import { unreadable } from "../blob-errors.ts";
import type { ByteWindow } from "./byte-window.ts";
import type { Waiting } from "./json-reader.ts";

const MAX_MARK_BYTES = 4;

/** First bytes of blobs that are not UTF-8 text. A longer mark precedes the shorter one that it begins with. */
const OTHERS: readonly (readonly [readonly number[], string])[] = [
  [[0xff, 0xfe, 0, 0], "is UTF-32"],
  [[0, 0, 0xfe, 0xff], "is UTF-32"],
  [[0xff, 0xfe], "is UTF-16"],
  [[0xfe, 0xff], "is UTF-16"],
  [[0, 0, 0], "is UTF-32"],
  [[0], "is UTF-16"],
  [[0x1f, 0x8b], "is compressed twice, or was not decompressed"],
  [[0x50, 0x4b, 3, 4], "is a zip archive"],
  [[0x50, 0x41, 0x52, 0x31], "is a Parquet file"],
];
const UTF8_MARK = [0xef, 0xbb, 0xbf];

/** Skips a UTF-8 byte order mark. @throws MucastError unreadable_blob if the blob is empty, or if its first bytes are not UTF-8 text. */
export function* checkEncoding(window: ByteWindow): Waiting<void> {
  while (window.end - window.position < MAX_MARK_BYTES && !window.finished) yield;
  const { bytes, position, end, source } = window;
  if (position === end) throw unreadable(source, 0, "the blob is empty");
  const startsWith = (mark: readonly number[]) =>
    end - position >= mark.length && mark.every((byte, i) => bytes[position + i] === byte);
  const other = OTHERS.find(([mark]) => startsWith(mark))?.[1] ?? withoutMark(bytes.subarray(position, end));
  if (other !== undefined) throw unreadable(source, 0, `the blob ${other}; JSON in UTF-8 is expected`);
  if (startsWith(UTF8_MARK)) window.position += UTF8_MARK.length;
}

/** UTF-16 and UTF-32, little endian: every character at the beginning of a JSON text is followed by zeros. */
function withoutMark(bytes: Uint8Array): string | undefined {
  if (bytes.length < 2 || bytes[1] !== 0) return undefined;
  return bytes[2] === 0 && bytes[3] === 0 ? "is UTF-32" : "is UTF-16";
}
