/** Compares two texts as a replay compares two documents. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MayLack } from "./compare-documents.ts";
import { type ComparedText, compareDocuments, comparedText, mayLackNothing } from "./compare-documents.ts";
import { Differences } from "./differences.ts";
import { JsonFile, writeCompact } from "./json-file.ts";

export interface Comparison {
  readonly differences: Differences;
  readonly recorded: ComparedText;
  readonly replayed: ComparedText;
}

/** In pieces of a few bytes, so that tokens are split anywhere. */
function* inPieces(text: string, bytes: number): Generator<Uint8Array> {
  const all = Buffer.from(text);
  for (let at = 0; at < all.length; at += bytes) yield all.subarray(at, at + bytes);
}

async function* source(text: string, bytes: number) {
  yield* inPieces(text, bytes);
}

/** The text as `writeCompact` writes it. @param pieceBytes size of the input chunks. */
export async function withFile<T>(
  text: string,
  body: (file: JsonFile) => Promise<T>,
  pieceBytes = 3,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-replay-"));
  try {
    const path = join(folder, "document.json");
    await writeCompact({ name: "output.json", chunks: source(text, pieceBytes) }, path);
    const file = await JsonFile.open(path, "output.json");
    return await body(file).finally(() => file.close());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param replayed as a job writes it: without white space. */
export async function compareTexts(
  recorded: string,
  replayed: string,
  mayLack: MayLack = mayLackNothing,
  parsedBytes?: number,
): Promise<Comparison> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-replay-"));
  try {
    const path = join(folder, "replayed.json");
    writeFileSync(path, replayed);
    const other = await JsonFile.open(path, "the replayed output");
    return await withFile(
      recorded,
      async (file) => {
        const differences = new Differences();
        await compareDocuments(file, other, differences, mayLack, parsedBytes);
        return { differences, recorded: await comparedText(file), replayed: await comparedText(other) };
      },
      1_000_003,
    ).finally(() => other.close());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
