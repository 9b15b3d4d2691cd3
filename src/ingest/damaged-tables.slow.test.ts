import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { WHOLE_MATRIX } from "../../test/whole-matrix.testing.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { randomTable } from "./random-tables.testing.ts";
import { readBytes } from "./table-twin.testing.ts";

const TABLES = fileURLToPath(new URL("../../test/tables/", import.meta.url));
const workFolder = await mkdtemp(join(tmpdir(), "mucast-tables-"));
after(() => rm(workFolder, { recursive: true }));

const tables = await Promise.all(
  (await readdir(TABLES))
    .filter((name) => name.endsWith(".parquet"))
    .map((name) => readFile(join(TABLES, name))),
);

/** Far more than the reader needs for the small tables of these tests. */
const MAX_BYTES = 200e6;
const CODES = /^(?:unreadable_blob|invalid_data|too_large)$/;

/** Reads damaged bytes, which must either be read or be refused by the blob's name. */
async function readOrRefuse(bytes: Uint8Array): Promise<void> {
  const kind = bytes.length % 2 === 0 ? "features" : "prices";
  await readBytes(kind, bytes, workFolder).catch((error: unknown) => {
    assert.ok(error instanceof MucastError, error instanceof Error ? error.stack : String(error));
    assert.match(error.code, CODES, error.message);
    assert.match(error.message, /^blob\.parquet: .*\.$/s);
    assert.ok(error.message.length < 1_000, error.message);
  });
  const { arrayBuffers, heapUsed } = process.memoryUsage();
  assert.ok(arrayBuffers + heapUsed < MAX_BYTES + held, `${arrayBuffers + heapUsed} bytes`);
}

const before = process.memoryUsage();
const held = before.arrayBuffers + before.heapUsed;

const damage = fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat({ max: 255 })), {
  minLength: 1,
  maxLength: 4,
});

/** Writes bytes at positions, each given as a share of the length from the end, where most of what a reader trusts is. */
function damaged(bytes: Uint8Array, changes: readonly (readonly [number, number])[]): Uint8Array {
  const changed = new Uint8Array(bytes);
  for (const [place, value] of changes)
    changed[changed.length - 1 - Math.floor(place ** 2 * (changed.length - 1))] = value;
  return changed;
}

describe("a damaged Parquet table", () => {
  it("is read, or refused with the reason, after any change of its bytes", async () => {
    const start = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...tables) },
      { weight: 1, arbitrary: randomTable },
    );
    await fc.assert(
      fc.asyncProperty(start, damage, (bytes, changes) => readOrRefuse(damaged(bytes, changes))),
      { numRuns: WHOLE_MATRIX ? 6_000 : 600, seed: 20_261_126, endOnFailure: true },
    );
  });

  it("is refused if it ends early, at any byte", async () => {
    const [bytes] = tables;
    for (let length = 4; length < bytes!.length; length += WHOLE_MATRIX ? 1 : 7) {
      await assert.rejects(
        readBytes("features", bytes!.subarray(0, length), workFolder),
        { code: "unreadable_blob" },
        `${length} bytes`,
      );
    }
  });
});
