import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import type { FoundBlob } from "../blobs/blobs.ts";
import { SUCCEEDED } from "../http/examples.ts";
import { type DrawPage, type ReportedOutputs, Reports, type ReportsParts } from "./reports.ts";

const ANN: Caller = { subject: "key:1", scopes: new Set(["read"]) };
const NEVER = new AbortController().signal;

/** A fake store of one output, whose version a test may change. */
class FakeOutput {
  etag: string | undefined = '"1"';
  readonly find = async (): Promise<FoundBlob> => {
    const store = { stat: async () => (this.etag === undefined ? undefined : { size: 1, etag: this.etag }) };
    return { space: "", store: store as unknown as FoundBlob["store"], key: "data/x.json" };
  };
}

/** Drawings that a test ends by hand. */
class HeldDrawings {
  readonly begun: { end: PromiseWithResolvers<Buffer>; signal: AbortSignal }[] = [];
  readonly draw: DrawPage = (_output, signal) => {
    const end = Promise.withResolvers<Buffer>();
    signal.addEventListener("abort", () => end.reject(new MucastError("canceled", "it was killed")));
    this.begun.push({ end, signal });
    return end.promise;
  };
}

function reportsOf(parts: Partial<ReportsParts> = {}) {
  const output = new FakeOutput();
  const drawings = new HeldDrawings();
  const reports = new Reports({ blobs: output, draw: drawings.draw, cacheBytes: 1_000, ...parts });
  return { output, drawings, reports, found: () => reports.find(ANN, [SUCCEEDED]) };
}

const codeOf = (asked: Promise<unknown>) =>
  asked.then(
    () => "answered",
    (error: MucastError) => error.code,
  );

describe("a report", () => {
  test("is drawn once for simultaneous and later requests, until its output changes", async () => {
    const { output, drawings, reports, found } = reportsOf();
    const first = await found();
    const asked = [reports.page(first, NEVER), reports.page(await found(), NEVER)];
    assert.equal(drawings.begun.length, 1);
    drawings.begun[0]!.end.resolve(Buffer.from("page"));
    assert.deepEqual((await Promise.all(asked)).map(String), ["page", "page"]);
    assert.equal(String(await reports.page(await found(), NEVER)), "page");
    assert.equal(drawings.begun.length, 1);
    output.etag = '"2"';
    const changed = await found();
    assert.notEqual(changed.etag, first.etag);
    void reports.page(changed, NEVER);
    assert.equal(drawings.begun.length, 2);
  });

  test("is drawn as long as one request waits for it; after the last one has left, the next draws another", async () => {
    const { drawings, reports, found } = reportsOf();
    const output = await found();
    const [one, two] = [new AbortController(), new AbortController()];
    const asked = [reports.page(output, one.signal), reports.page(output, two.signal)].map(codeOf);
    one.abort();
    assert.equal(await asked[0], "canceled");
    assert.equal(drawings.begun[0]!.signal.aborted, false);
    two.abort();
    assert.equal(await asked[1], "canceled");
    assert.equal(drawings.begun[0]!.signal.aborted, true);
    const next = reports.page(output, NEVER);
    assert.equal(drawings.begun.length, 2);
    drawings.begun[1]!.end.resolve(Buffer.from("page"));
    assert.equal(String(await next), "page");
    assert.equal(await codeOf(reports.page(output, AbortSignal.abort())), "answered", "it is there");
  });

  test("that cannot be drawn is one problem for all waiting requests, and the next request tries again", async () => {
    const { drawings, reports, found } = reportsOf();
    const output = await found();
    const asked = [reports.page(output, NEVER), reports.page(output, NEVER)].map(codeOf);
    drawings.begun[0]!.end.reject(new MucastError("process_lost", "it was ended by SIGKILL"));
    assert.deepEqual(await Promise.all(asked), ["process_lost", "process_lost"]);
    void reports.page(output, NEVER);
    assert.equal(drawings.begun.length, 2);
  });

  test("of an output that is removed before or while it is drawn is not found", async () => {
    const { output, drawings, reports, found } = reportsOf();
    const before = await found();
    const asked = codeOf(reports.page(before, NEVER));
    drawings.begun[0]!.end.reject(new MucastError("blob_not_found", "there is no blob"));
    assert.equal(await asked, "not_found");
    output.etag = undefined;
    assert.equal(await codeOf(found()), "not_found");
  });

  test("does not exist for an audit, or for an operation that has not succeeded", async () => {
    const { reports } = reportsOf();
    assert.equal(await codeOf(reports.find(ANN, [{ ...SUCCEEDED, operation: "audit" }])), "other_result");
    assert.equal(
      await codeOf(reports.find(ANN, [{ ...SUCCEEDED, status: "Failed", result: null }])),
      "no_result",
    );
  });

  test("of several outputs reads each, in their order, and is another page in another order", async () => {
    const { drawings, reports } = reportsOf();
    const other = { ...SUCCEEDED, result: { ...SUCCEEDED.result!, output_name: "nn_engine_2.json" } };
    const found = await reports.find(ANN, [SUCCEEDED, other]);
    assert.deepEqual(
      found.outputs.map(({ name }) => name),
      [SUCCEEDED.result!.output_name, "nn_engine_2.json"],
    );
    const etags = [found, await reports.find(ANN, [other, SUCCEEDED]), await reports.find(ANN, [SUCCEEDED])];
    assert.equal(new Set(etags.map(({ etag }) => etag)).size, 3);
    const asked = codeOf(reports.page(found, NEVER));
    drawings.begun[0]!.end.reject(new MucastError("blob_not_found", "there is no blob"));
    assert.equal(await asked, "not_found");
    const failed = { ...SUCCEEDED, status: "Failed", result: null } as const;
    assert.equal(await codeOf(reports.find(ANN, [SUCCEEDED, failed])), "no_result");
  });

  test("is kept while there is room; the least recently requested one is dropped first", async () => {
    const drawn: string[] = [];
    const draw: DrawPage = async ([output]) => {
      const { etag } = output!;
      drawn.push(etag);
      return Buffer.alloc(etag === "large" ? 101 : 40);
    };
    const { output, reports, found } = reportsOf({ draw, cacheBytes: 100 });
    const of = async (etag: string): Promise<ReportedOutputs> => {
      output.etag = etag;
      return found();
    };
    for (const etag of ["a", "b", "a", "c", "a", "b", "large", "a", "large"])
      await reports.page(await of(etag), NEVER);
    assert.deepEqual(drawn, ["a", "b", "c", "b", "large", "large"]);
  });
});
