import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import fc from "fast-check";
import { BlockStore } from "./block-store.ts";

const workFolder = await mkdtemp(join(tmpdir(), "mucast-store-"));
after(() => rm(workFolder, { recursive: true }));

describe("the block store", () => {
  it("returns any part of any block, in memory and on disk, and leaves no file", async () => {
    const blocks = fc.array(fc.float64Array({ maxLength: 20 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(blocks, fc.nat({ max: 100 }), fc.nat(), async (given, inMemory, at) => {
        const store = new BlockStore(workFolder, inMemory);
        const places = given.map((values) => store.append(values));
        given.forEach((values, i) => {
          const from = values.length === 0 ? 0 : at % values.length;
          const part = new Float64Array(values.length - from);
          store.read(places[i]!, from, part);
          assert.deepEqual(part, values.subarray(from));
        });
        assert.deepEqual(await readdir(workFolder), []);
        store.close();
      }),
    );
  });

  it("keeps a copy, which later changes do not affect", () => {
    const store = new BlockStore(workFolder);
    const values = Float64Array.of(1, 2);
    const span = store.append(values);
    values[0] = 9;
    const back = new Float64Array(2);
    store.read(span, 0, back);
    assert.deepEqual(back, Float64Array.of(1, 2));
  });

  it("throws output_failed if it cannot write", () => {
    const store = new BlockStore(join(workFolder, "absent"), 0);
    assert.throws(() => store.append(Float64Array.of(1)), {
      code: "output_failed",
      message:
        "the work folder of the job cannot be written: it does not exist (ENOENT); TMPDIR names another place",
    });
  });
});
