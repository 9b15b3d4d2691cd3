/**
 * A full disk for the output, and for the database: a small in-memory file system that only the service sees, and that disappears with it.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { Core } from "./core.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { FEATURES, PRICES, payload } from "./inputs.testing.ts";
import { endServices, serviceFolder, startServe } from "./service.testing.ts";
import { startFakeStorage } from "./storage.testing.ts";

/** Mount namespaces require root, or a kernel that gives every user a namespace. */
const NAMESPACE = [
  { make: ["unshare", "--mount"], enter: ["--mount"] },
  {
    make: ["unshare", "--user", "--map-root-user", "--mount"],
    enter: ["--user", "--preserve-credentials", "--mount"],
  },
].find(
  ({ make: [command, ...args] }) =>
    spawnSync(command!, [...args, "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0,
);

const options = {
  timeout: 600_000,
  skip: NAMESPACE === undefined && "NO FILE SYSTEM CAN BE MOUNTED HERE: a full disk is not tried",
};

describe("a full disk for the output", options, () => {
  let core: Core | undefined;
  after(async () => {
    await endServices();
    await core?.storage.stop();
  });

  test("fails the operation with output_failed and nothing half-written, and the service continues", async () => {
    const folder = join(await serviceFolder(), "blobs");
    mkdirSync(folder);
    const script = `mount -t tmpfs -o size=1m,mode=700 none '${folder}' && exec "$@"`;
    const storage = await startFakeStorage();
    storage.put("feature_engine_small.json", FEATURES);
    storage.put("data_extractor_small.json", PRICES);
    const serving = await startServe({
      env: { ...storage.env, BLOB_URL: folder },
      through: [...NAMESPACE!.make, "sh", "-c", script, "sh"],
    });
    core = new Core(serving, storage);
    const ready = async () => (await core!.api.ask("GET", "/readyz")).text;
    const { operation, release } = await core.heldRunning();
    const seen = `/proc/${serving.pid}/root${folder}`;
    // Room for an attempt's own status, but not for an output. A readiness check holds 64 KiB while it writes, so the disk is filled again
    // until one has failed.
    const fill = () =>
      spawnSync("sh", ["-c", 'cat /dev/zero >>"$0"; truncate -s -16k "$0"', join(seen, "rest")]);
    await eventuallyTrue("a check has failed", async () => {
      fill();
      return /"detail":"storage: /.test(await ready());
    });
    fill();
    release();
    const ended = await core.api.ended(operation.id);
    assert.deepEqual([ended.status, ended.error?.code], ["Failed", "output_failed"]);
    const left = readdirSync(join(seen, "data")).filter((name) => !name.includes("readiness"));
    assert.deepEqual(left, []);
    const refused = await core.api.post("run_ml_job", payload(storage.url, "small"));
    assert.equal(refused.status, 503, refused.text);
    assert.match(refused.text, /the storage of the blobs cannot be used: .*no space left/);
    assert.ok(refused.headers.has("retry-after"));
    const remount = ["mount", "-o", "remount,size=64m", folder];
    const enter = ["--target", String(serving.pid), ...NAMESPACE!.enter];
    assert.equal(spawnSync("nsenter", [...enter, ...remount]).status, 0);
    await eventuallyTrue("it is ready", async () => !(await ready()).includes("detail"));
    const again = await core.api.submit(payload(storage.url, "small"), { prefer: "wait=60" });
    assert.equal(again.status, "Succeeded", JSON.stringify(again.error));
  });
});
