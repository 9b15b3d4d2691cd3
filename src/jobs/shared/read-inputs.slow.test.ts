import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { openFiles } from "../../../test/open-files.testing.ts";
import { eventuallyTrue } from "../../../test/service/eventually.testing.ts";
import { openInputs } from "./read-inputs.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-inputs-"));
after(() => rmSync(folder, { recursive: true }));

test("a job that is aborted at any moment of its reading leaves no blob open", {
  skip: process.platform !== "linux" && "looks into /proc",
}, async () => {
  cpSync("test/cases/tiny/data", folder, { recursive: true });
  const request = {
    featureUrl: join(folder, "feature_engine_tiny.json"),
    dataExtractorUrl: join(folder, "data_extractor_tiny.json"),
    config: "{}",
    id: "aborted",
  };
  let aborted = 0;
  for (let turns = 0; turns < 40; turns++) {
    const caller = new AbortController();
    const context = {
      workers: 1,
      policy: { allowed: [] },
      report: () => undefined,
      signal: caller.signal,
    };
    const opening = openInputs(request, context, folder, 0).then(
      (inputs) => inputs.close(),
      () => {
        aborted++;
      },
    );
    for (let passed = 0; passed < turns; passed++) await turn();
    caller.abort(new Error("no longer wanted"));
    await opening;
    // The job does not wait for the system, which may still open or read a blob and closes it afterwards.
    await eventuallyTrue(
      `no open blob, aborted after ${turns} turns`,
      () => !openFiles().some((path) => path.startsWith(folder)),
    );
  }
  assert.ok(aborted > 0);
});
