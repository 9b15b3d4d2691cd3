import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import { WHOLE_MATRIX } from "../../../test/whole-matrix.testing.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { BlockStore } from "../block-store.ts";
import { cuts } from "../chunks.testing.ts";
import { randomTable } from "./random-tables.testing.ts";
import { type ReadBlob, readBytes, readTwin } from "./table-twin.testing.ts";

const workFolder = await mkdtemp(join(tmpdir(), "mucast-tables-"));
after(() => rm(workFolder, { recursive: true }));

/** The blob, or the code and text of its error without the byte position, which differs between formats. */
async function outcome(reading: Promise<ReadBlob>): Promise<ReadBlob | string> {
  try {
    return await reading;
  } catch (error) {
    assert.ok(error instanceof MucastError, String(error));
    return `${error.code}: ${error.message.replace(/^blob\.(?:json|parquet): |, at byte \d+\.$/g, "")}`;
  }
}

describe("a Parquet table of any types, encodings, nulls and row groups", () => {
  it("is read like its records in JSON, as another reader makes them", async () => {
    const isCut = fc.constantFrom(1, 20, 1e6);
    await fc.assert(
      fc.asyncProperty(randomTable, cuts, isCut, async (bytes, lengths, inMemory) => {
        const found = await outcome(
          readBytes("features", bytes, new BlockStore(workFolder, inMemory), lengths),
        );
        assert.deepEqual(found, await outcome(readTwin("features", bytes, workFolder)));
      }),
      { numRuns: WHOLE_MATRIX ? 400 : 60 },
    );
  });
});
