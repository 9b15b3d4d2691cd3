/** Jobs, a service and its callers with their blobs in a real SeaweedFS, through S3. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { GetObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { type SeaweedFs, startSeaweedFs } from "../../servers/seaweedfs.testing.ts";
import { endServices } from "../../service/service.testing.ts";
import { type Ended, inputArguments, mucast } from "../commands/command.ts";
import { newFolder, removeFolders, withoutProvenance } from "./job-runs.ts";
import { assertValid } from "./published-schemas.ts";

const TINY = fileURLToPath(new URL("../../../test/cases/tiny/", import.meta.url));
/** catboost, because its import is the shortest. */
const CONFIG = `{"ML params": {"model": "catboost", "n_splits": 2, "intervals": {"alpha": 0.2},
  "model_params": {"iterations": 2}}}`;
const FILES = {
  folder: TINY,
  features: join(TINY, "data/feature_engine_tiny.json"),
  prices: join(TINY, "data/data_extractor_tiny.json"),
};
const LOADED = fileURLToPath(new URL("../commands/loaded-modules.mjs", import.meta.url));
const BLOB_URL = "s3://models/team";

let server: SeaweedFs;
before(async () => {
  server = await startSeaweedFs();
  await server.newBucket("models");
  await upload("models", "team/");
});
after(async () => {
  await endServices();
  await server.stop();
  await removeFolders();
});

async function upload(bucket: string, prefix: string): Promise<void> {
  for (const file of [FILES.features, FILES.prices]) {
    const place = { Bucket: bucket, Key: `${prefix}${file.slice(TINY.length)}` };
    await server.client.send(new PutObjectCommand({ ...place, Body: readFileSync(file) }));
  }
}

async function stored(key: string): Promise<string> {
  const { Body } = await server.client.send(new GetObjectCommand({ Bucket: "models", Key: key }));
  return Body!.transformToString();
}

function blobsUnder(url: string) {
  return {
    folder: "",
    features: `${url}/data/feature_engine_tiny.json`,
    prices: `${url}/data/data_extractor_tiny.json`,
  };
}

interface Run {
  readonly blobs?: typeof FILES;
  readonly id: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Checks that no output of a run contains a secret of the storage. */
async function run({ blobs = blobsUnder(BLOB_URL), id, env = {} }: Run): Promise<Ended> {
  const args = ["run_ml_job", ...inputArguments(blobs, CONFIG), "--log", "json", "--workers", "1"];
  const access = server.env();
  const ended = await mucast(args, {
    env: { ...access, BLOB_URL, MUCAST_PRIVATE_ORIGINS: server.origin, OPERATION_ID: id, ...env },
  });
  assert.ok(!(ended.stdout + ended.stderr).includes(access.AWS_SECRET_ACCESS_KEY!));
  return ended;
}

function recordOf({ code, stdout, stderr }: Ended): Record<string, string> {
  assert.equal(code, 0, stderr);
  const record = JSON.parse(stdout);
  assertValid("result-record", record);
  return record;
}

describe("with its blobs in S3", { concurrency: 2 }, () => {
  test("a job reads and writes there, its output equals that of the same job on files, and its replay is identical", async () => {
    const list = join(await newFolder(), "loaded");
    const env = { NODE_OPTIONS: `--import ${LOADED}`, LOADED_MODULES: list };
    const record = recordOf(await run({ id: "key", env }));
    assert.equal(record.output_url, `${BLOB_URL}/data/ml_engine_key.json`);
    const text = await stored("team/data/ml_engine_key.json");
    const output = JSON.parse(text);
    assertValid("output-blob", output);
    assert.equal(output.provenance.feature_url, blobsUnder(BLOB_URL).features);
    const folder = await newFolder();
    recordOf(await run({ id: "local", blobs: FILES, env: { BLOB_URL: folder } }));
    const local = readFileSync(join(folder, "data/ml_engine_local.json"), "utf8");
    assert.equal(withoutProvenance(text), withoutProvenance(local));
    assert.doesNotMatch(readFileSync(list, "utf8"), /azure/);
    const replay = await mucast(["replay", "--output", record.output_url!, "--workers", "1"], {
      env: { ...server.env(), BLOB_URL, MUCAST_PRIVATE_ORIGINS: server.origin },
    });
    assert.match(replay.stdout, /identical/, replay.stderr);
    const show = await mucast(["show", "--output", record.output_url!], {
      env: { ...server.env(), MUCAST_ALLOWED_BLOB_URLS: BLOB_URL, MUCAST_PRIVATE_ORIGINS: server.origin },
    });
    assert.match(show.stdout, /^ +catboost$/m, show.stderr);
  });

  test("an output that exists stays, and a missing bucket, a private address or wrong keys are an error before anything is read", async () => {
    const Key = "team/data/ml_engine_taken.json";
    await server.client.send(new PutObjectCommand({ Bucket: "models", Key, Body: "before" }));
    for (const [env, says] of [
      [{}, /exists already/],
      [{ BLOB_URL: "s3://missing" }, /no bucket missing/],
      [{ MUCAST_PRIVATE_ORIGINS: "" }, /MUCAST_PRIVATE_ORIGINS/],
      [{ AWS_SECRET_ACCESS_KEY: "wrong" }, /403.*right/],
    ] as const) {
      const { code, stderr } = await run({ id: "taken", blobs: FILES, env });
      assert.notEqual(code, 0);
      assert.match(stderr, says);
    }
    assert.equal(await stored(Key), "before");
  });
});
