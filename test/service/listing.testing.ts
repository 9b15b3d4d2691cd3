import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { problemOf } from "./api.testing.ts";
import type { Core } from "./core.testing.ts";

/** Finding operations. */
export function listing(core: () => Core): void {
  describe("operations", () => {
    test("are listed newest first, a page at a time, each once, even while others are submitted", async () => {
      const { api } = core();
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) ids.unshift((await api.submit(core().own())).id);
      const seen: string[] = [];
      let query = "?limit=2";
      for (let page = 0; page < 3; page++) {
        const { operations, next_cursor } = await api.list(query);
        seen.push(...operations.map(({ id }) => id));
        await api.submit(core().own());
        query = `?limit=2&cursor=${encodeURIComponent(next_cursor!)}`;
      }
      assert.deepEqual(seen.slice(0, 5), ids);
      assert.equal(new Set(seen).size, 6);
    });

    test("end", async () => {
      const all: string[] = [];
      let cursor: string | null = "";
      while (cursor !== null) {
        const from: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
        const page = await core().api.list(`?limit=100${from}`);
        all.push(...page.operations.map(({ id }) => id));
        cursor = page.next_cursor;
      }
      assert.equal(new Set(all).size, all.length);
    });

    test("are found by their state and their job", async () => {
      const { api } = core();
      const held = await core().heldRunning();
      const running = await api.list("?status=Running&operation=run_ml_job");
      assert.ok(running.operations.some(({ id }) => id === held.operation.id));
      assert.ok(running.operations.every(({ status }) => status === "Running"));
      const networks = await api.list("?operation=run_dl_job");
      assert.ok(networks.operations.every(({ operation }) => operation === "run_dl_job"));
      held.release();
      await api.ended(held.operation.id);
    });

    for (const query of [
      "?limit=0",
      "?limit=101",
      "?limit=x",
      "?status=Done",
      "?cursor=made-up",
      "?tag=",
      "?tag=%C3%A9",
    ]) {
      test(`cannot be requested with ${query}`, async () => {
        problemOf(await core().api.ask("GET", `/v1/operations${query}`), 400, "invalid_request");
      });
    }

    test("are found by their tags, once they have ended too", async () => {
      const { api } = core();
      const { id } = await api.submit(
        JSON.stringify({ ...JSON.parse(core().own()), tags: ["<b>nightly</b>", "a=1"] }),
      );
      await api.ended(id);
      const listed = async (query: string) => (await api.list(query)).operations.map((found) => found.id);
      assert.deepEqual(await listed("?tag=a%3D1"), [id]);
      assert.deepEqual(await listed("?tag=a%3D1&tag=%3Cb%3Enightly%3C%2Fb%3E"), [id]);
      assert.deepEqual(await listed("?tag=a%3D1&tag=nightly"), []);
    });

    test("that do not exist are not_found, and so are paths", async () => {
      for (const [method, path] of [
        ["GET", "/v1/operations/none"],
        ["POST", "/v1/operations/none/cancel"],
        ["GET", "/v1/operations/none/events"],
        ["GET", "/v1/operation"],
        ["GET", "/data/ml_engine_none.json"],
      ] as const) {
        problemOf(await core().api.ask(method, path), 404, "not_found");
      }
      problemOf(await core().api.ask("DELETE", "/v1/operations/none"), 405, "method_not_allowed");
    });
  });
}
