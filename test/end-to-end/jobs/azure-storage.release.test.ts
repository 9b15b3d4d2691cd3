/** run_ml_job with its blobs in a real Azurite; through the command line if the environment has credentials. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { fileURLToPath } from "node:url";
import type { ContainerClient } from "@azure/storage-blob";
import { openStore } from "../../../src/blob/open-store.ts";
import { policyOf } from "../../../src/blob/policy.ts";
import { withKeys } from "../../../src/cli/keys.ts";
import { runMlJob } from "../../../src/jobs/run-job.ts";
import { replayOutput } from "../../../src/replay/replay.ts";
import { Forecasts } from "../../../src/service/forecast/forecasts.ts";
import { SUCCEEDED } from "../../../src/service/http/examples.ts";
import { type Azurite, CERTIFICATE, startAzurite } from "../../servers/azurite.testing.ts";
import { Api, problemOf } from "../../service/api.testing.ts";
import { endServices, startServe } from "../../service/service.testing.ts";
import { type Ended, inputArguments, mucast } from "../commands/command.ts";
import { type Job, newFolder, removeFolders, runJob, withoutProvenance } from "./job-runs.ts";
import { assertValid } from "./published-schemas.ts";
import { openQuickEngine } from "./shared-engines.ts";

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

let azurite: Azurite;
let container: ContainerClient;
let blobUrl: string;
before(async () => {
  azurite = await startAzurite({ secure: true });
  setDefaultCACertificates([...getCACertificates(), readFileSync(CERTIFICATE, "utf8")]);
  blobUrl = azurite.containerUrl("models");
  container = await azurite.newContainer("models");
  await upload(container);
});
after(async () => {
  await endServices();
  await azurite.stop();
  await removeFolders();
});

async function upload(to: ContainerClient): Promise<void> {
  for (const file of [FILES.features, FILES.prices]) {
    const content = readFileSync(file);
    await to.getBlockBlobClient(file.slice(TINY.length)).upload(content, content.length);
  }
}

function blobsUnder(url: string, query = "") {
  return {
    folder: "",
    features: `${url}/data/feature_engine_tiny.json${query}`,
    prices: `${url}/data/data_extractor_tiny.json${query}`,
  };
}

interface Run {
  readonly blobs?: typeof FILES;
  readonly id?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Checks that no output of a run contains a secret of the storage. */
async function run({ blobs = blobsUnder(blobUrl), id = "1", env = {} }: Run): Promise<Ended> {
  const args = ["run_ml_job", ...inputArguments(blobs, CONFIG), "--log", "json", "--workers", "1"];
  const ended = await mucast(args, {
    env: {
      BLOB_URL: blobUrl,
      NODE_EXTRA_CA_CERTS: CERTIFICATE,
      MUCAST_PRIVATE_ORIGINS: azurite.origin,
      OPERATION_ID: id,
      ...env,
    },
  });
  assert.doesNotMatch(ended.stdout + ended.stderr, /sig=(?!…)|AccountKey=|Bearer|sv=\d/);
  return ended;
}

function withKey(): Record<string, string> {
  return { AZURE_STORAGE_CONNECTION_STRING: azurite.connectionString };
}

function recordOf({ code, stdout, stderr }: Ended): Record<string, string> {
  assert.equal(code, 0, stderr);
  const record = JSON.parse(stdout);
  assertValid("result-record", record);
  return record;
}

/** The text of a blob, read with the account's key. */
async function stored(key: string, url = blobUrl): Promise<string> {
  const policy = policyOf({ allowed: [], blobUrl, privateOrigins: [azurite.origin] });
  const store = await openStore(url, { policy, env: withKey() });
  const pieces: Uint8Array[] = [];
  for await (const piece of store.read(key)) pieces.push(piece);
  await store.close();
  return Buffer.concat(pieces).toString("utf8");
}

/** A job in this process whose output goes to `blobUrl`, which may carry a SAS. */
function runTo(blobUrl: string, id: string, blobs = blobsUnder(withoutQuery(blobUrl))) {
  const policy = policyOf({ allowed: [], blobUrl: withoutQuery(blobUrl), privateOrigins: [azurite.origin] });
  const job: Job = (request, context) => runMlJob({ ...request, blobUrl, id }, { ...context, policy });
  return runJob(blobs, CONFIG, 1, job, openQuickEngine);
}

const withoutQuery = (url: string) => url.split("?")[0]!;

describe("with its blobs in Azure", { concurrency: 2 }, () => {
  test("a job reads and writes there, and its output equals that of the same job on files", async () => {
    const list = join(await newFolder(), "loaded");
    const env = { ...withKey(), NODE_OPTIONS: `--import ${LOADED}`, LOADED_MODULES: list };
    const record = recordOf(await run({ id: "key", env }));
    assert.equal(record.output_url, `${blobUrl}/data/ml_engine_key.json`);
    const text = await stored("data/ml_engine_key.json");
    const output = JSON.parse(text);
    assertValid("output-blob", output);
    assert.equal(output.provenance.feature_url, blobsUnder(blobUrl).features);

    const policy = policyOf({ allowed: [], blobUrl, privateOrigins: [azurite.origin] });
    const store = await openStore(blobUrl, { policy, env: withKey() });
    const operation = { ...SUCCEEDED, result: { ...SUCCEEDED.result!, output_name: "ml_engine_key.json" } };
    const view = await new Forecasts({
      find: async () => ({ space: "", store, key: "data/ml_engine_key.json" }),
    }).of({ subject: "local", scopes: new Set() }, operation, { id: "key" });
    await store.close();
    assert.deepEqual(Object.fromEntries(view.forecasts.map(({ ticker, mu }) => [ticker, mu])), output.mu);

    const local = await runTo(await newFolder(), "local", FILES);
    assert.equal(withoutProvenance(text), withoutProvenance(local.text));
    const { feature_url, data_extractor_url, ...replay } = JSON.parse(local.text).provenance;
    const { feature_url: _, data_extractor_url: __, ...there } = output.provenance;
    assert.deepEqual(there, replay);

    assert.match(readFileSync(list, "utf8"), /^@azure\/storage-blob$/m);
    assert.doesNotMatch(readFileSync(list, "utf8"), /^@azure\/(identity|msal-.*)$/m);
  });

  test("a separate SAS opens an input elsewhere, BLOB_URL may carry one, and a job of a service's caller reads and writes its blobs in the caller's space", async () => {
    const elsewhere = await azurite.newContainer("elsewhere");
    await upload(elsewhere);
    const own = azurite.containerUrl("elsewhere");
    const prices = `${blobsUnder(own).prices}?${await azurite.sasFor("elsewhere", "r")}`;
    const space = "key-0123456789abcdef";
    const features = `${blobUrl}/${space}/data/feature_engine_own.json`;
    const content = readFileSync(FILES.features);
    await container
      .getBlockBlobClient(`${space}/data/feature_engine_own.json`)
      .upload(content, content.length);
    const env = {
      BLOB_URL: `${blobUrl}?${await azurite.sasFor("models", "rcw")}`,
      MUCAST_ALLOWED_BLOB_URLS: `${blobUrl} ${own}`,
      MUCAST_BLOB_SPACE: space,
      MUCAST_STATUS_ATTEMPT: "1",
    };
    const record = recordOf(await run({ blobs: { folder: "", features, prices }, id: "sas", env }));
    assert.equal(record.output_url, `${blobUrl}/${space}/data/ml_engine_sas.json`);
    const text = await stored("data/ml_engine_sas.json", `${blobUrl}/${space}`);
    assert.doesNotMatch(text, /sig=/);
    const { feature_url, data_extractor_url } = JSON.parse(text).provenance;
    assert.deepEqual([feature_url, data_extractor_url], [features, blobsUnder(own).prices]);
    assert.ok(await container.getBlobClient(`${space}/status/sas.1.json`).exists());

    const replayed = (dataExtractorUrl?: string) =>
      replayOutput(
        { id: "1", outputUrl: record.output_url!, blobUrl: env.BLOB_URL, dataExtractorUrl },
        {
          workers: 1,
          policy: policyOf({ allowed: [blobUrl, own], blobUrl, privateOrigins: [azurite.origin] }),
          report: () => undefined,
          signal: new AbortController().signal,
          openEngine: openQuickEngine,
        },
      );
    const gone = await replayed();
    assert.equal(gone.reason?.code, "inputs_gone", "the SAS of BLOB_URL opens that container alone");
    assert.equal(gone.inputs!.feature.found!.url, features);
    const identical = await replayed(prices);
    assert.equal(identical.verdict, "identical", JSON.stringify(identical));
    assert.doesNotMatch(JSON.stringify([gone, identical]), /sig=|sv=/);
  });

  test("callers of a service with keys see only their own blobs there", async () => {
    const env = {
      ...withKey(),
      BLOB_URL: blobUrl,
      NODE_EXTRA_CA_CERTS: CERTIFICATE,
      MUCAST_PRIVATE_ORIGINS: azurite.origin,
      MUCAST_AUTH: "keys",
    };
    const serving = await startServe({ env });
    const newCaller = async (name: string) => {
      const { key, token } = await withKeys({ data_dir: serving.dataDir }, (keys) =>
        keys.create(name, ["read", "write"]),
      );
      const api = new Api(serving.url, { authorization: `Bearer ${token}` });
      return { api, place: `${blobUrl}/key-${key.id}/data` };
    };
    const [ann, ben] = [await newCaller("ann"), await newCaller("ben")];
    const urls: string[] = [];
    for (const [name, file] of [
      ["feature_engine_a.json", FILES.features],
      ["data_extractor_a.json", FILES.prices],
    ] as const) {
      const put = await ann.api.put(name, readFileSync(file));
      urls.push(JSON.parse(put.text).url);
      assert.equal(urls.at(-1), `${ann.place}/${name}`);
    }
    const payload = JSON.stringify({
      feature_url: urls[0],
      data_extractor_url: urls[1],
      config: JSON.parse(CONFIG),
    });
    problemOf(await ben.api.post("run_ml_job", payload), 400, "url_not_allowed");
    const ended = await ann.api.submit(payload, { prefer: "wait=60" });
    assert.equal(ended.status, "Succeeded", JSON.stringify(ended.error));
    const { output_url, output_name } = ended.result!;
    assert.equal(output_url, `${ann.place}/${output_name}`);
    assert.equal((await ann.api.ask("GET", `/data/${output_name}`)).status, 200);
    problemOf(await ben.api.ask("GET", `/data/${output_name}`), 404, "not_found");
    const report = await ann.api.ask("GET", `/v1/operations/${ended.id}/report`);
    assert.match(report.text, /^<!doctype html>/);
    const prepared = await ann.api.ask("POST", "/v1/prepare?id=csv", "Date,A\n2020-01-01,1\n");
    assert.equal(
      JSON.parse(prepared.text).feature_url,
      `${ann.place}/feature_engine_csv.json`,
      prepared.text,
    );
    assert.equal((await ann.api.ask("GET", "/data/feature_engine_csv.json")).status, 200);
    assert.equal((await ann.api.ask("DELETE", `/data/${output_name}`)).status, 204);
    await serving.terminate();
  });

  test("a managed identity opens inputs and output, with no secret in the environment", async () => {
    const identity = await fakeIdentity(unsignedToken());
    try {
      const env = {
        IDENTITY_ENDPOINT: identity.endpoint,
        IDENTITY_HEADER: "header",
        AZURE_TOKEN_CREDENTIALS: "ManagedIdentityCredential",
      };
      const record = recordOf(await run({ id: "identity", env }));
      assert.equal(record.output_url, `${blobUrl}/data/ml_engine_identity.json`);
      assertValid("output-blob", JSON.parse(await stored("data/ml_engine_identity.json")));
      assert.match(identity.asked[0]!.url!, /resource=https%3A%2F%2Fstorage\.azure\.com/i);
    } finally {
      identity.server.closeAllConnections();
      identity.server.close();
    }
  });
});

/** A fake: the endpoint where a machine in Azure gets the tokens of its managed identity. */
async function fakeIdentity(token: string) {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    const expires_on = String(Math.round(Date.now() / 1000) + 3600);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ access_token: token, expires_on, token_type: "Bearer" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { asked, server, endpoint: `http://127.0.0.1:${port}/token` };
}

/** Like Azure's, but unsigned; Azurite only checks its contents. */
function unsignedToken(): string {
  const now = Math.round(Date.now() / 1000);
  const times = { iat: now, nbf: now - 60, exp: now + 3600 };
  const claims = { aud: "https://storage.azure.com", iss: "https://sts.windows.net/tenant/", ...times };
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none", typ: "JWT" })}.${part(claims)}.x`;
}
