import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { FolderStore } from "../../blob/folder/folder-store.ts";
import type { OperationRow } from "../database/tables.ts";
import { findOutput } from "./finish-attempt.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-found-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("the service looks for an output in the space of the operation's row", async () => {
  const config_sha256 = createHash("sha256").update("{}").digest("hex");
  const space = "key-0123456789abcdef";
  const row = { id: "0123456789", operation: "run_ml_job", config_sha256, space } as OperationRow;
  const store = new FolderStore(folder, "http://127.0.0.1:8080");
  const output = JSON.stringify({ id: row.id, provenance: { config_sha256 } });
  await store.put("data/ml_engine_0123456789.json", output);
  assert.equal(await findOutput(store, row), undefined, "another caller's, or of before");
  assert.ok(await findOutput(store, { ...row, space: "" }));
  await store.within(space).put("data/ml_engine_0123456789.json", output);
  const found = await findOutput(store, row);
  assert.equal(found?.output_url, "http://127.0.0.1:8080/data/ml_engine_0123456789.json");
});

test("a verdict is identified by its id, and an audit also by the digest of its config", async () => {
  const config_sha256 = createHash("sha256").update("{}").digest("hex");
  const options = { operation: "run_dl_job", output_url: "/data/nn_engine_1.json" };
  const row = { id: "9876543210", config_sha256, space: "", options } as unknown as OperationRow;
  const store = new FolderStore(folder, "http://127.0.0.1:8080");
  await store.put("data/audit_9876543210.json", JSON.stringify({ id: row.id, inputs: { config_sha256 } }));
  await store.put("data/replay_9876543210.json", JSON.stringify({ id: row.id, verdict: "identical" }));
  for (const operation of ["audit", "replay"] as const) {
    const found = await findOutput(store, { ...row, operation });
    assert.equal(found?.output_name, `${operation}_9876543210.json`);
    assert.match(found.execution_name, /^dl-job-/);
    assert.equal(await findOutput(store, { ...row, operation, id: "other" }), undefined);
  }
  assert.equal(await findOutput(store, { ...row, operation: "audit", config_sha256: "" }), undefined);
});
