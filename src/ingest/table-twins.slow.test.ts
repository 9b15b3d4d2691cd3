import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import { WHOLE_MATRIX } from "../../test/whole-matrix.testing.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { cuts } from "./chunks.testing.ts";
import { randomTable } from "./random-tables.testing.ts";
import { type ReadBlob, readBytes, readTwin } from "./table-twin.testing.ts";

const workFolder = await mkdtemp(join(tmpdir(), "mucast-tables-"));
after(() => rm(workFolder, { recursive: true }));

/** The blob, or the code of its error; of several faults, each format may name another. */
async function outcome(reading: Promise<ReadBlob>): Promise<ReadBlob | string> {
  try {
    return await reading;
  } catch (error) {
    assert.ok(error instanceof MucastError, String(error));
    return error.code;
  }
}

describe("a Parquet table of any types, encodings, nulls and row groups", () => {
  it("is read like its records in JSON, as another reader makes them", async () => {
    await fc.assert(
      fc.asyncProperty(randomTable, cuts, async (bytes, lengths) => {
        const found = await outcome(readBytes("features", bytes, workFolder, lengths));
        assert.deepEqual(found, await outcome(readTwin("features", bytes, workFolder)));
      }),
      { numRuns: WHOLE_MATRIX ? 400 : 60 },
    );
  });
});
