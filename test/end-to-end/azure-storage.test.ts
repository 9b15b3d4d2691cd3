/** run_ml_job over the command line, with its blobs in a real Azurite. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ContainerClient } from "@azure/storage-blob";
import { openStore } from "../../src/blob/open-store.ts";
import { policyOf } from "../../src/blob/policy.ts";
import { Forecasts } from "../../src/service/forecast/forecasts.ts";
import { SUCCEEDED } from "../../src/service/http/openapi/examples.ts";
import { type Azurite, CERTIFICATE, startAzurite } from "../servers/azurite.testing.ts";
import { Api, problemOf } from "../service/api.testing.ts";
import { endServices, startServe } from "../service/service.testing.ts";
import { type Ended, inputArguments, jsonLines, mucast } from "./command.ts";
import { newFolder, removeFolders, withoutProvenance } from "./job-runs.ts";
import { assertValid } from "./published-schemas.ts";

const TINY = fileURLToPath(new URL("../../examples/tiny/", import.meta.url));
/** catboost, because its import is the shortest. */
const CONFIG = `{"ML params": {"model": "catboost", "n_splits": 2, "intervals": {"alpha": 0.2},
  "model_params": {"iterations": 2}}}`;
const FILES = {
  folder: TINY,
  features: join(TINY, "data/feature_engine_tiny.json"),
  prices: join(TINY, "data/data_extractor_tiny.json"),
};
const LOADED = fileURLToPath(new URL("loaded-modules.mjs", import.meta.url));

let azurite: Azurite;
let container: ContainerClient;
let blobUrl: string;
before(async () => {
  azurite = await startAzurite();
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

/** Nothing that a run prints may hold a secret of the storage. */
async function run({ blobs = blobsUnder(blobUrl), id = "1", env = {} }: Run): Promise<Ended> {
  const args = ["run_ml_job", ...inputArguments(blobs, CONFIG), "--log", "json", "--workers", "1"];
  const ended = await mucast(args, {
    env: { BLOB_URL: blobUrl, MUCAST_PRIVATE_ORIGINS: azurite.origin, OPERATION_ID: id, ...env },
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

async function stored(from: ContainerClient, name: string): Promise<string> {
  return (await from.getBlobClient(`data/${name}`).downloadToBuffer()).toString("utf8");
}

async function localOutput(): Promise<{ text: string; loaded: string }> {
  const folder = await newFolder();
  const list = join(folder, "loaded");
  const env = { BLOB_URL: folder, NODE_OPTIONS: `--import ${LOADED}`, LOADED_MODULES: list };
  const record = recordOf(await run({ blobs: FILES, env }));
  return {
    text: readFileSync(fileURLToPath(record.output_url!), "utf8"),
    loaded: readFileSync(list, "utf8"),
  };
}

describe("with its blobs in Azure", { concurrency: 2 }, () => {
  test("a job reads and writes there, and its output is that of the same job on files", async () => {
    const list = join(await newFolder(), "loaded");
    const env = { ...withKey(), NODE_OPTIONS: `--import ${LOADED}`, LOADED_MODULES: list };
    const record = recordOf(await run({ id: "key", env }));
    assert.equal(record.output_url, `${blobUrl}/data/ml_engine_key.json`);
    const text = await stored(container, "ml_engine_key.json");
    const output = JSON.parse(text);
    assertValid("output-blob", output);
    assert.equal(output.provenance.feature_url, blobsUnder(blobUrl).features);

    const policy = policyOf({ allowed: [], blobUrl, privateOrigins: [azurite.origin] });
    const store = await openStore(blobUrl, { policy, env: withKey() });
    const operation = { ...SUCCEEDED, result: { ...SUCCEEDED.result!, output_name: "ml_engine_key.json" } };
    const view = await new Forecasts({ find: async () => ({ store, key: "data/ml_engine_key.json" }) }).of(
      { subject: "local", scopes: new Set() },
      operation,
      { id: "key" },
    );
    await store.close();
    assert.deepEqual(Object.fromEntries(view.forecasts.map(({ ticker, mu }) => [ticker, mu])), output.mu);

    const local = await localOutput();
    assert.equal(withoutProvenance(text), withoutProvenance(local.text));
    const { feature_url, data_extractor_url, ...replay } = JSON.parse(local.text).provenance;
    const { feature_url: _, data_extractor_url: __, ...there } = output.provenance;
    assert.deepEqual(there, replay);

    assert.match(readFileSync(list, "utf8"), /^@azure\/storage-blob$/m);
    assert.doesNotMatch(readFileSync(list, "utf8"), /^@azure\/(identity|msal-.*)$/m);
    assert.doesNotMatch(local.loaded, /azure/);
    assert.match(local.loaded, /^commander$/m);
  });

  test("a SAS of their own opens inputs elsewhere, and BLOB_URL may carry one for the output", async () => {
    const elsewhere = await azurite.newContainer("elsewhere");
    await upload(elsewhere);
    const own = azurite.containerUrl("elsewhere");
    const blobs = blobsUnder(own, `?${await azurite.sasFor("elsewhere", "r")}`);
    const env = {
      BLOB_URL: `${blobUrl}?${await azurite.sasFor("models", "rcw")}`,
      MUCAST_ALLOWED_BLOB_URLS: own,
    };
    const record = recordOf(await run({ blobs, id: "sas", env }));
    assert.equal(record.output_url, `${blobUrl}/data/ml_engine_sas.json`);
    const text = await stored(container, "ml_engine_sas.json");
    assert.doesNotMatch(text, /sig=/);
    assert.equal(JSON.parse(text).provenance.feature_url, blobsUnder(own).features);
  });

  test("a job of a service's caller leaves its output in the caller's space, and reads there and beside it", async () => {
    const space = "key-0123456789abcdef";
    const name = "feature_engine_own.json";
    const content = readFileSync(FILES.features);
    await container.getBlockBlobClient(`${space}/data/${name}`).upload(content, content.length);
    const blobs = { ...blobsUnder(blobUrl), features: `${blobUrl}/${space}/data/${name}` };
    const sas = await azurite.sasFor("models", "rcw");
    for (const [id, env] of [
      ["space-key", withKey()],
      ["space-sas", { BLOB_URL: `${blobUrl}?${sas}` }],
    ] as const) {
      const asked = { MUCAST_BLOB_SPACE: space, MUCAST_STATUS_ATTEMPT: "1", ...env };
      const record = recordOf(await run({ blobs, id, env: asked }));
      assert.equal(record.output_url, `${blobUrl}/${space}/data/ml_engine_${id}.json`);
      assert.ok(await container.getBlobClient(`${space}/data/ml_engine_${id}.json`).exists());
      assert.ok(await container.getBlobClient(`${space}/status/${id}.1.json`).exists());
    }
    const odd = await run({ blobs, id: "odd", env: { ...withKey(), MUCAST_BLOB_SPACE: "../x" } });
    assert.equal(odd.code, 2, odd.stderr);
  });

  test("callers of a service with keys meet their own blobs there alone", async () => {
    const env = {
      ...withKey(),
      BLOB_URL: blobUrl,
      MUCAST_PRIVATE_ORIGINS: azurite.origin,
      MUCAST_AUTH: "keys",
    };
    const serving = await startServe({ env });
    const newCaller = async (name: string) => {
      const made = await mucast(["keys", "create", "--data-dir", serving.dataDir, "--name", name]);
      const key = /mucast_([0-9a-f]{16})_[\w-]{43}/.exec(made.stdout)!;
      const api = new Api(serving.url, { authorization: `Bearer ${key[0]}` });
      return { api, place: `${blobUrl}/key-${key[1]}/data` };
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
    assert.equal((await ann.api.ask("DELETE", `/data/${output_name}`)).status, 204);
    await serving.terminate();
  });

  test("an output that exists stays, and a missing container is an error before anything is read", async () => {
    const taken = container.getBlockBlobClient("data/ml_engine_taken.json");
    await taken.upload("before", 6);
    const missing = azurite.containerUrl("missing");
    for (const [options, says] of [
      [{ id: "taken", env: withKey() }, /exists already/],
      [{ env: { ...withKey(), BLOB_URL: missing }, blobs: FILES }, /ContainerNotFound/],
      [{ env: { BLOB_URL: `${blobUrl}?sv=2021-12-02&sig=SECRET`, AZURE_STORAGE_SAS_TOKEN: "" } }, /right/],
    ] as const) {
      const { code, stdout, stderr } = await run(options);
      assert.deepEqual([code, stdout], [3, ""], stderr);
      const [problem] = jsonLines(stderr).filter(({ level }) => level === "error");
      assert.equal(problem!.code, "output_failed");
      assert.match(String(problem!.detail), says);
      assert.doesNotMatch(stderr, /SECRET/);
    }
    assert.equal(await stored(container, "ml_engine_taken.json"), "before");
  });

  test("an origin on a private address is refused until it is listed", async () => {
    const { code, stderr } = await run({ env: { ...withKey(), MUCAST_PRIVATE_ORIGINS: "" } });
    assert.equal(code, 2);
    assert.match(stderr, /MUCAST_PRIVATE_ORIGINS/);
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

/** As Azure's, but unsigned; Azurite looks at what it says only. */
function unsignedToken(): string {
  const now = Math.round(Date.now() / 1000);
  const times = { iat: now, nbf: now - 60, exp: now + 3600 };
  const claims = { aud: "https://storage.azure.com", iss: "https://sts.windows.net/tenant/", ...times };
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none", typ: "JWT" })}.${part(claims)}.x`;
}

/** With the account's key, and trusting the certificate of the tests. */
async function readSecurely(secure: Azurite, blobUrl: string, key: string): Promise<string> {
  const policy = policyOf({ allowed: [], privateOrigins: [secure.origin], blobUrl });
  const env = { AZURE_STORAGE_CONNECTION_STRING: secure.connectionString };
  const store = await openStore(blobUrl, { policy, env, ca: readFileSync(CERTIFICATE, "utf8") });
  const pieces: Uint8Array[] = [];
  for await (const piece of store.read(key)) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

test("a managed identity opens inputs and output, with no secret in the environment", async () => {
  const secure = await startAzurite({ secure: true });
  const identity = await fakeIdentity(unsignedToken());
  try {
    const models = await secure.newContainer("models");
    await upload(models);
    const url = secure.containerUrl("models");
    const env = {
      BLOB_URL: url,
      MUCAST_PRIVATE_ORIGINS: secure.origin,
      NODE_EXTRA_CA_CERTS: CERTIFICATE,
      IDENTITY_ENDPOINT: identity.endpoint,
      IDENTITY_HEADER: "header",
      AZURE_TOKEN_CREDENTIALS: "ManagedIdentityCredential",
    };
    const record = recordOf(await run({ blobs: blobsUnder(url), id: "identity", env }));
    assert.equal(record.output_url, `${url}/data/ml_engine_identity.json`);
    assertValid("output-blob", JSON.parse(await readSecurely(secure, url, "data/ml_engine_identity.json")));
    assert.match(identity.asked[0]!.url!, /resource=https%3A%2F%2Fstorage\.azure\.com/i);
  } finally {
    identity.server.closeAllConnections();
    identity.server.close();
    await secure.stop();
  }
});
