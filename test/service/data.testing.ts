/** Blobs over HTTP: putting, replacing, ranges, names. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { before, describe, test } from "node:test";
import { type Api, problemOf } from "./api.testing.ts";
import { type Core, UPLOAD_BYTES } from "./core.testing.ts";
import type { Serving } from "./service.testing.ts";

export function blobs(core: () => Core): void {
  describe("blobs", () => {
    let serving: Serving;
    let api: Api;
    before(() => {
      ({ serving, api } = core());
    });

    test("are new with 201, replaced with 200, of any content type, far over the limit of other bodies", async () => {
      const large = randomBytes(2 ** 22);
      for (const [bytes, type, status] of [
        [Buffer.from("[]"), "application/json", 201],
        [Buffer.from("{}"), "text/csv", 200],
        [large, "application/octet-stream", 200],
      ] as const) {
        const answer = await fetch(`${serving.url}/data/feature_engine_large.json`, {
          method: "PUT",
          body: bytes,
          headers: { "content-type": type },
        });
        assert.equal(answer.status, status, await answer.text());
      }
      const read = await fetch(`${serving.url}/data/feature_engine_large.json`);
      const got = Buffer.from(await read.arrayBuffer());
      const digest = (of: Buffer) => createHash("sha256").update(of).digest("hex");
      assert.equal(digest(got), digest(large));
    });

    test("are read in ranges of one version", async () => {
      await api.put("data_extractor_r.json", "0123456789");
      const path = "/data/data_extractor_r.json";
      const whole = await api.ask("GET", path);
      const etag = whole.headers.get("etag")!;
      assert.match(etag, /^"[^"]+"$/);
      for (const [range, status, text, place] of [
        ["bytes=2-4", 206, "234", "bytes 2-4/10"],
        ["bytes=7-", 206, "789", "bytes 7-9/10"],
        ["bytes=-2", 206, "89", "bytes 8-9/10"],
        ["bytes=0-99", 206, "0123456789", "bytes 0-9/10"],
      ] as const) {
        const part = await api.ask("GET", path, undefined, { range });
        assert.deepEqual([part.status, part.text, part.headers.get("content-range")], [status, text, place]);
      }
      const outside = await api.ask("GET", path, undefined, { range: "bytes=10-" });
      assert.equal(outside.status, 416);
      assert.equal((await api.ask("GET", path, undefined, { "if-none-match": etag })).status, 304);
      await api.put("data_extractor_r.json", "abcdefghij");
      const changed = await api.ask("GET", path, undefined, { range: "bytes=2-4", "if-match": etag });
      assert.equal(changed.status, 412);
      const stale = await api.ask("GET", path, undefined, { range: "bytes=2-4", "if-range": etag });
      assert.deepEqual([stale.status, stale.text], [200, "abcdefghij"]);
    });

    test("that are being read stay complete while they are replaced", async () => {
      const [first, second] = [Buffer.alloc(UPLOAD_BYTES, "a"), Buffer.alloc(UPLOAD_BYTES, "b")];
      await api.put("feature_engine_swap.json", first);
      const answer = await fetch(`${serving.url}/data/feature_engine_swap.json`);
      const reader = answer.body!.getReader();
      const begun = (await reader.read()).value!;
      await api.put("feature_engine_swap.json", second);
      let length = begun.length;
      let onlyFirst = begun.every((byte: number) => byte === 97);
      for (let next = await reader.read(); next.value !== undefined; next = await reader.read()) {
        length += next.value.length;
        onlyFirst &&= next.value.every((byte: number) => byte === 97);
      }
      assert.deepEqual([length, onlyFirst], [first.length, true]);
    });

    for (const name of [
      "feature_engine_.json",
      "feature_engine_a.txt",
      `feature_engine_${"x".repeat(65)}.json`,
      "other.json",
      "..%2f..%2fetc%2fpasswd",
      "feature_engine_a%2e%2e%2f.json",
      "feature_engine_%00.json",
    ]) {
      test(`cannot be called ${name}`, async () => {
        for (const method of ["GET", "PUT"]) {
          const answer = await api.ask(method, `/data/${name}`, method === "PUT" ? "[]" : undefined);
          assert.ok(answer.status === 400 || answer.status === 404, `${method}: ${answer.status}`);
        }
      });
    }

    test("that are outputs can be read but not uploaded", async () => {
      const { id } = await api.submit(core().own(), { prefer: "wait=60" });
      const name = `ml_engine_${id}.json`;
      const before = await api.ask("GET", `/data/${name}`);
      assert.equal(before.status, 200);
      const refused = await api.put(name, "{}");
      assert.ok(refused.status >= 400 && refused.status < 500, String(refused.status));
      assert.equal((await api.ask("GET", `/data/${name}`)).text, before.text);
      const status = await api.ask("GET", `/status/${id}.1.json`);
      problemOf(status, 404, "not_found");
    });

    test("that are cut off in transit leave the earlier blob", async () => {
      await api.put("feature_engine_cut.json", "whole");
      const controller = new AbortController();
      async function* pieces() {
        yield Buffer.alloc(100_000, 32);
        controller.abort();
        yield Buffer.alloc(100_000, 32);
      }
      await assert.rejects(
        fetch(`${serving.url}/data/feature_engine_cut.json`, {
          method: "PUT",
          body: pieces() as never,
          duplex: "half",
          signal: controller.signal,
        } as RequestInit),
      );
      assert.equal((await api.ask("GET", "/data/feature_engine_cut.json")).text, "whole");
    });
  });
}
