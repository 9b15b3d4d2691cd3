/** Dumps of the embedded database, and what a restored one knows about jobs that ended after its dump. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { mucast } from "../end-to-end/commands/command.ts";
import { claimPort } from "../servers/port.testing.ts";
import { Api } from "./api.testing.ts";
import { payload, putInputs } from "./inputs.testing.ts";
import { endServices, launchServe, serviceFolder, silentEngine, startServe } from "./service.testing.ts";

after(endServices);

test("refuses a damaged database with a message, and a restored one has the outputs of jobs that ended after its dump", {
  timeout: 600_000,
}, async () => {
  const [folder, port] = [await serviceFolder(), await claimPort()];
  const dataDir = join(folder, "data");
  const db = (...words: string[]) => mucast(["db", ...words, "--data-dir", dataDir]);
  const silent = await silentEngine(folder);
  const first = await startServe({ folder, port, env: silent });
  const api = new Api(first.url);
  await putInputs(api, "small");
  const runs = await api.submit(payload(first.url, "small"));
  await api.running(runs.id);
  const waits = await api.submit(payload(first.url, "small"));
  for (const refused of [await db("restore"), await db("dump"), await db("unlock")]) {
    assert.equal(refused.code, 3, refused.stderr);
    assert.match(refused.stderr, new RegExp(`in use by process ${first.pid} `));
  }
  await first.kill9();
  const dumped = await db("dump");
  assert.equal(dumped.code, 0, dumped.stderr);
  const older = dumped.stdout.trim();

  const second = await startServe({ folder, port });
  for (const { id } of [runs, waits]) assert.equal((await api.ended(id)).status, "Succeeded");
  assert.deepEqual(await second.terminate(), { code: 0, signal: null });
  const [newest] = readdirSync(join(dataDir, "backups")).sort().reverse();
  assert.notEqual(join(dataDir, "backups", newest!), older, "the end of the service left a dump");

  const control = join(dataDir, "database/global/pg_control");
  writeFileSync(control, readFileSync(control).fill(0));
  const damaged = await launchServe({ folder, port });
  assert.equal((await damaged.exited).code, 3);
  assert.match(
    damaged.logs(),
    /cannot be opened: PostgreSQL stopped while it read its files\. They are damaged/,
  );
  assert.ok(damaged.logs().includes(`\`mucast db restore --data-dir ${dataDir}\``), damaged.logs());
  assert.ok(damaged.logs().includes(newest!), damaged.logs());
  assert.doesNotMatch(damaged.logs(), /Aborted|ASSERTIONS|wasm/);

  const restored = await db("restore", "--from", older);
  assert.equal(restored.code, 0, restored.stderr);
  assert.match(
    restored.stdout,
    /^restored the database of 20\S+Z with 2 operations, from \S+\.dump\.gz\nthe previous database is in /,
  );
  // No job can end with this engine: the outputs are found.
  const third = await startServe({ folder, port, env: silent });
  for (const { id } of [runs, waits]) {
    const { status, result } = await api.ended(id);
    assert.deepEqual([status, result?.output_name], ["Succeeded", `ml_engine_${id}.json`]);
  }
  const outputs = readdirSync(join(third.dataDir, "blobs/data")).filter((name) =>
    name.startsWith("ml_engine_"),
  );
  assert.equal(outputs.length, 2);
});
