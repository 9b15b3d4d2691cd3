import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { openFiles } from "../../../test/open-files.testing.ts";
import { FolderStore } from "../../blob/folder/folder-store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { FakeBlobs } from "../http/fake-blobs.testing.ts";
import { Preparations } from "./preparations.ts";

const SETTINGS = {
  prepare_bytes: 100,
  blob_tickers: 3,
  upload_bytes: 100,
  stored_bytes_per_caller: 100,
  request_seconds: 10,
};
const CALLER = { subject: "one", scopes: new Set(["write"] as const) };

test("nothing more is kept of a CSV that arrives too slowly, and the rest is read and dropped", {
  skip: process.platform !== "linux" && "looks into /proc",
}, async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const waits = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  const dropped = Promise.withResolvers<void>();
  async function* slow() {
    yield Buffer.from("Date,A");
    waits.resolve();
    await goesOn.promise;
    yield Buffer.alloc(1_000, "x");
    yield Buffer.alloc(1_000, "x");
    dropped.resolve();
  }
  const run = () => assert.fail("it was prepared");
  const preparations = new Preparations({
    blobs: new FakeBlobs(new FolderStore("/nowhere", "")),
    run,
    settings: SETTINGS,
  });
  const body = { bytes: slow(), multipartType: undefined };
  const refused = assert.rejects(preparations.prepare(CALLER, body, {}, new AbortController().signal), {
    code: "timed_out",
    message: "the body took longer than 10 s to arrive (request_seconds)",
  });
  await waits.promise;
  t.mock.timers.tick(10_000);
  await refused;
  assert.deepEqual(
    openFiles().filter((path) => path.endsWith("/body")),
    [],
  );
  goesOn.resolve();
  await dropped.promise;
});

test("a blob is limited by the size of a body too, as it is on the disk before the quota is checked", async () => {
  const asked: number[] = [];
  const prepare = async (settings: Partial<typeof SETTINGS>) => {
    const preparations = new Preparations({
      blobs: new FakeBlobs(new FolderStore("/nowhere", "")),
      run: async ({ blobBytes }) => {
        asked.push(blobBytes);
        throw new MucastError("invalid_data", "no prices");
      },
      settings: { ...SETTINGS, upload_bytes: 2 ** 40, stored_bytes_per_caller: 2 ** 40, ...settings },
    });
    const body = { bytes: Readable.from([Buffer.from("Date,A")]), multipartType: undefined };
    await assert.rejects(preparations.prepare(CALLER, body, {}, new AbortController().signal), /no prices/);
  };
  await prepare({});
  await prepare({ upload_bytes: 1_000 });
  await prepare({ stored_bytes_per_caller: 2_000 });
  assert.deepEqual(asked, [12_800, 1_000, 2_000]);
});
