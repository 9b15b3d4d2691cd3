import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import type { BlobAddress } from "../blobs/blobs.ts";
import { SUCCEEDED } from "../http/examples.ts";
import { type DrawPage, Reports, type ReportsParts } from "./reports.ts";

const ANN: Caller = { subject: "key:1", scopes: new Set(["read"]) };
const NEVER = new AbortController().signal;
const PAGE = Buffer.from("page");

/** Reports of one output, whose version is `output.etag`, in a fake store, and drawings that a test ends by hand. */
function reportsOf(parts: Partial<ReportsParts> = {}) {
  const output: { etag: string | undefined } = { etag: '"1"' };
  const stat = async () => (output.etag === undefined ? undefined : { size: 1, etag: output.etag });
  const store = { stat } as unknown as BlobAddress["store"];
  const blobs = { find: async () => ({ space: "", store, key: "data/x.json" }) };
  const drawings: { end: PromiseWithResolvers<Buffer>; signal: AbortSignal }[] = [];
  const draw: DrawPage = (_outputs, signal) => {
    const end = Promise.withResolvers<Buffer>();
    signal.addEventListener("abort", () => end.reject(new MucastError("canceled", "it was killed")));
    drawings.push({ end, signal });
    return end.promise;
  };
  const reports = new Reports({ blobs, draw, cacheBytes: 1_000, ...parts });
  return { output, drawings, reports, found: () => reports.find(ANN, [SUCCEEDED]) };
}

const outcome = (asked: Promise<unknown>) => asked.then(String, (error: MucastError) => error.code);

describe("a report", () => {
  test("is drawn once for simultaneous and later requests, until its output changes", async () => {
    const { output, drawings, reports, found } = reportsOf();
    const first = await found();
    const asked = [reports.page(first, NEVER), reports.page(await found(), NEVER)].map(outcome);
    drawings[0]!.end.resolve(PAGE);
    assert.deepEqual(await Promise.all(asked), ["page", "page"]);
    assert.equal(await outcome(reports.page(await found(), NEVER)), "page");
    assert.equal(drawings.length, 1);
    output.etag = '"2"';
    const changed = await found();
    assert.notEqual(changed.etag, first.etag);
    void reports.page(changed, NEVER);
    assert.equal(drawings.length, 2);
  });

  test("is drawn as long as one request waits for it; after the last one has left, the next draws another", async () => {
    const { drawings, reports, found } = reportsOf();
    const outputs = await found();
    const [one, two] = [new AbortController(), new AbortController()];
    const asked = [one, two].map(({ signal }) => outcome(reports.page(outputs, signal)));
    one.abort();
    assert.deepEqual([await asked[0], drawings[0]!.signal.aborted], ["canceled", false]);
    two.abort();
    assert.deepEqual([await asked[1], drawings[0]!.signal.aborted], ["canceled", true]);
    const next = outcome(reports.page(outputs, NEVER));
    drawings[1]!.end.resolve(PAGE);
    assert.equal(await next, "page");
    assert.equal(await outcome(reports.page(outputs, AbortSignal.abort())), "page", "it is there");
  });

  test("that cannot be drawn is one problem for all waiting requests, and the next request tries again", async () => {
    const { output, drawings, reports, found } = reportsOf();
    const outputs = await found();
    for (const [thrown, code] of [
      ["process_lost", "process_lost"],
      ["blob_not_found", "not_found"],
    ] as const) {
      const asked = [reports.page(outputs, NEVER), reports.page(outputs, NEVER)].map(outcome);
      drawings.at(-1)!.end.reject(new MucastError(thrown, "no"));
      assert.deepEqual(await Promise.all(asked), [code, code]);
    }
    assert.equal(drawings.length, 2);
    output.etag = undefined;
    assert.equal(await outcome(found()), "not_found", "its output is gone");
  });

  test("of several outputs reads each, in their order, and is another page in another order", async () => {
    const { reports } = reportsOf();
    const other = { ...SUCCEEDED, result: { ...SUCCEEDED.result!, output_name: "nn_engine_2.json" } };
    const found = await reports.find(ANN, [SUCCEEDED, other]);
    const names = found.outputs.map(({ name }) => name);
    assert.deepEqual(names, [SUCCEEDED.result!.output_name, "nn_engine_2.json"]);
    const others = [await reports.find(ANN, [other, SUCCEEDED]), await reports.find(ANN, [SUCCEEDED])];
    assert.equal(new Set([found, ...others].map(({ etag }) => etag)).size, 3);
    for (const [changes, code] of [
      [{ operation: "audit" }, "other_result"],
      [{ status: "Failed", result: null }, "no_result"],
    ] as const)
      assert.equal(await outcome(reports.find(ANN, [SUCCEEDED, { ...SUCCEEDED, ...changes }])), code);
  });
});
