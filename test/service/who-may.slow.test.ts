/** Callers with keys see their own data, and an operator creates, lists and revokes the keys of a running service. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { withKeys } from "../../src/cli/keys.ts";
import { blobPageSchema } from "../../src/contract/api/prepared-blobs.ts";
import type { Scope } from "../../src/service/auth/caller.ts";
import type { ApiKey } from "../../src/service/auth/key-store.ts";
import { mucast } from "../end-to-end/commands/command.ts";
import { Api, problemOf } from "./api.testing.ts";
import { FEATURES, PRICES, payload, putInputs } from "./inputs.testing.ts";
import { assertQuickStartWithKeys } from "./quick-start.testing.ts";
import { endServices, type Serving, serviceFolder, startServe } from "./service.testing.ts";

/** Enough for the inputs and the output of one job, but less than twice as much. */
const STORED_BYTES = 4_000_000;

const TOKEN = /^mucast_([0-9a-f]{16})_[\w-]{43}\n$/;

const keysCommand = (dataDir: string, ...words: string[]) =>
  mucast(["keys", ...words, "--data-dir", dataDir]);

describe("a service with keys", { timeout: 600_000 }, () => {
  let serving: Serving;
  let folder: string;
  const keys: Record<string, string> = {};

  /** As created by `mucast keys create`. */
  async function newKey(name: string, scopes: readonly Scope[] = ["read", "write"]): Promise<string> {
    const made = await withKeys({ data_dir: serving.dataDir }, (keys) => keys.create(name, scopes));
    return made.token;
  }

  const apiOf = (name: string) => new Api(serving.url, { authorization: `Bearer ${keys[name]}` });

  /** The URLs of the blobs of a list: outputs first, then inputs. */
  async function blobsOf(api: Api): Promise<string[]> {
    const { blobs } = blobPageSchema.parse(JSON.parse((await api.ask("GET", "/v1/data")).text));
    const outputs = blobs.filter(({ kind }) => kind === "output");
    const inputs = blobs.filter(({ kind }) => kind !== "output");
    return [...outputs.map(({ url }) => url), ...inputs.map(({ url }) => url).sort()];
  }

  before(async () => {
    folder = await serviceFolder();
    serving = await startServe({
      folder,
      env: { MUCAST_AUTH: "keys", MUCAST_STORED_BYTES_PER_CALLER: String(STORED_BYTES) },
      args: ["--host", "0.0.0.0"],
    });
    for (const name of ["ann", "ben", "cat", "dan", "eve", "gus"]) keys[name] = await newKey(name);
    keys.reader = await newKey("reader", ["read"]);
  });
  after(endServices);

  test("warns once that the URLs of outputs name this machine alone, on every address without a public URL", () => {
    const warnings = serving.logs().match(/^.*set MUCAST_PUBLIC_URL.*$/gm)!;
    assert.deepEqual(
      warnings.map((line) => JSON.parse(line)).map(({ level, output_urls }) => [level, output_urls]),
      [["warn", `http://127.0.0.1:${new URL(serving.url).port}`]],
    );
  });

  test("shows a caller only its own operations, events, blobs and outputs", async () => {
    const [ann, ben] = [apiOf("ann"), apiOf("ben")];
    await putInputs(ann, "hers");
    const mine = await ann.submit(payload(serving.url, "hers"), {
      prefer: "wait=60",
      "idempotency-key": "one",
    });
    assert.equal(mine.status, "Succeeded", JSON.stringify(mine.error));
    assert.equal((await ann.ask("GET", mine.result!.output_url)).status, 200);
    for (const [method, path] of [
      ["GET", `/v1/operations/${mine.id}`],
      ["GET", `/v1/operations/${mine.id}/payload`],
      ["GET", `/v1/operations/${mine.id}/events`],
      ["GET", `/v1/operations/${mine.id}/forecast`],
      ["GET", `/v1/operations/${mine.id}/verdict`],
      ["GET", `/v1/operations/${mine.id}/report`],
      ["POST", `/v1/operations/${mine.id}/report-link`],
      ["POST", `/v1/report-link?id=${mine.id}`],
      ["POST", `/v1/operations/${mine.id}/cancel`],
      ["GET", `/data/${mine.result!.output_name}`],
      ["GET", "/data/feature_engine_hers.json"],
    ] as const) {
      problemOf(await ben.ask(method, path), 404, "not_found");
    }
    assert.equal((await ann.ask("GET", `/v1/operations/${mine.id}/forecast`)).status, 200);
    const link = await ann.ask("POST", `/v1/operations/${mine.id}/report-link`);
    const opened = await new Api(serving.url).ask("GET", JSON.parse(link.text).url);
    assert.deepEqual([opened.status, opened.headers.get("content-type")], [200, "text/html; charset=utf-8"]);
    assert.equal(opened.text, (await ann.ask("GET", `/v1/operations/${mine.id}/report`)).text);
    problemOf(await ann.ask("GET", JSON.parse(link.text).url), 404, "not_found");
    assert.deepEqual((await ben.list()).operations, []);
    assert.deepEqual(await blobsOf(ben), []);
    assert.deepEqual(await blobsOf(ann), [
      `${serving.url}/data/${mine.result!.output_name}`,
      ...["feature_engine", "data_extractor"].map((kind) => `${serving.url}/data/${kind}_hers.json`).sort(),
    ]);
    const replay = JSON.stringify({ output_url: mine.result!.output_url });
    problemOf(await ben.post("replay", replay), 400, "url_not_allowed");
    const previous = { previous_feature_url: `${serving.url}/data/feature_engine_hers.json` };
    const json = { "content-type": "application/json" };
    problemOf(
      await ben.ask("POST", "/v1/validate", payload(serving.url, "hers"), json),
      400,
      "url_not_allowed",
    );
    await putInputs(ben, "his");
    const audit = JSON.stringify({ ...JSON.parse(payload(serving.url, "his")), ...previous });
    const { path } = problemOf(await ben.post("audit", audit), 400, "url_not_allowed");
    assert.equal(path, "previous_feature_url");
    const { id } = await ann.submit(replay, {}, "replay");
    const replayed = await ann.ended(id);
    assert.equal(replayed.status, "Succeeded", JSON.stringify(replayed.error));
    const verdict = JSON.parse((await ann.ask("GET", `/v1/operations/${id}/verdict`)).text);
    assert.equal(verdict.replay.verdict, "identical", JSON.stringify(verdict));
    problemOf(await ben.ask("DELETE", "/data/feature_engine_hers.json"), 404, "not_found");
    assert.equal((await ann.ask("GET", "/data/feature_engine_hers.json")).text, FEATURES);
    const his = await ben.submit(payload(serving.url, "his"), { "idempotency-key": "one" });
    assert.notEqual(his.id, mine.id);
  });

  test("gives every caller its own names, and storage that is freed again", async () => {
    const [cat, dan] = [apiOf("cat"), apiOf("dan")];
    await putInputs(cat, "same");
    assert.equal((await dan.put("feature_engine_same.json", "[]")).status, 201, "as if there were none");
    const submitted = await cat.submit(payload(serving.url, "same"), { prefer: "wait=60" });
    assert.equal(submitted.status, "Succeeded", JSON.stringify(submitted.error));
    const name = submitted.result!.output_name;
    assert.equal(submitted.result!.output_url, `${serving.url}/data/${name}`);
    const output = JSON.parse((await cat.ask("GET", `/data/${name}`)).text);
    assert.equal(output.provenance.feature_url, `${serving.url}/data/feature_engine_same.json`);
    const space = `key-${keys.cat!.split("_")[1]}`;
    const folders = join(serving.dataDir, "blobs", space);
    assert.deepEqual(readdirSync(join(folders, "data")).sort(), [
      "data_extractor_same.json",
      "feature_engine_same.json",
      name,
    ]);
    for (const url of [`${serving.url}/${space}/data/feature_engine_same.json`, `/${space}/data/${name}`])
      assert.equal((await dan.ask("GET", url.replace(serving.url, ""))).status, 404);
    const fill = "x".repeat(STORED_BYTES);
    problemOf(await cat.put("feature_engine_more.json", fill), 507, "quota_exceeded");
    for (const file of readdirSync(join(folders, "data"))) {
      assert.equal((await cat.ask("DELETE", `/data/${file}`)).status, 204);
      problemOf(await cat.ask("GET", `/data/${file}`), 404, "not_found");
    }
    assert.equal((await cat.put("feature_engine_more.json", fill)).status, 201);
    problemOf(await cat.put("feature_engine_more.json", `${fill}x`), 413, "too_large");
    assert.equal((await dan.ask("GET", "/data/feature_engine_same.json")).text, "[]");
  });

  test("lets jobs read shared blobs of the operator in addition to their caller's", async () => {
    const eve = apiOf("eve");
    await mkdir(join(serving.dataDir, "blobs/data"), { recursive: true });
    await writeFile(join(serving.dataDir, "blobs/data/feature_engine_all.json"), FEATURES);
    problemOf(await eve.ask("GET", "/data/feature_engine_all.json"), 404, "not_found");
    assert.equal((await eve.put("data_extractor_mine.json", PRICES)).status, 201);
    const submitted = await eve.submit(
      payload(serving.url, "all").replace("data_extractor_all", "data_extractor_mine"),
      { prefer: "wait=60" },
    );
    assert.equal(submitted.status, "Succeeded", JSON.stringify(submitted.error));
    const outputs = readdirSync(join(serving.dataDir, "blobs/data"));
    assert.deepEqual(outputs, ["feature_engine_all.json"], "its output went to its caller's space");
  });

  test("does not let a caller train on another's blobs", async () => {
    const answer = await apiOf("ben").post("run_ml_job", payload(serving.url, "hers"));
    problemOf(answer, 400, "url_not_allowed");
  });

  test("lets a read-only key only read", async () => {
    const reader = apiOf("reader");
    assert.deepEqual((await reader.list()).operations, []);
    problemOf(await reader.post("run_ml_job", payload(serving.url, "x")), 403, "forbidden");
    problemOf(await reader.ask("POST", "/v1/validate", "{}"), 403, "forbidden");
    problemOf(await reader.put("feature_engine_r.json", "[]"), 403, "forbidden");
    problemOf(await reader.ask("GET", "/v1/operations/x/report"), 404, "not_found");
    problemOf(await reader.ask("POST", "/v1/prepare", "Date,A"), 403, "forbidden");
    problemOf(await reader.ask("POST", "/v1/operations/x/report-link"), 404, "not_found");
  });

  test("prints how to create a key, and its commands work with it", () => assertQuickStartWithKeys(serving));

  test("has its keys created, listed without their secrets and revoked at once by mucast keys", async () => {
    const { dataDir, url } = serving;
    const statusFor = async (token: string) => {
      const api = new Api(url, { authorization: `Bearer ${token}` });
      return (await api.ask("GET", "/v1/operations")).status;
    };
    const made = await keysCommand(dataDir, "create", "--name", "the optimizer", "--scopes", "read");
    assert.equal(made.code, 0, made.stderr);
    const [token, id] = TOKEN.exec(made.stdout)! as unknown as [string, string];
    const secret = token.trim().slice(`mucast_${id}_`.length);
    assert.ok(!made.stderr.includes(secret));
    assert.equal(await statusFor(token.trim()), 200);

    const second = JSON.parse((await keysCommand(dataDir, "create", "--name", "b", "--json")).stdout);
    assert.deepEqual(second.key.scopes, ["read", "write"]);
    assert.match(`${second.token}\n`, TOKEN);

    const listed = await keysCommand(dataDir, "list");
    assert.match(listed.stdout, new RegExp(`^${id} +the optimizer +read +\\S+Z +(never|\\S+Z) +-$`, "m"));

    const revoked = await keysCommand(dataDir, "revoke", id);
    assert.deepEqual([revoked.code, revoked.stdout], [0, ""]);
    assert.equal(revoked.stderr, `revoked key ${id}, the optimizer (read)\n`);
    assert.equal(await statusFor(token.trim()), 401);
    const all = (await keysCommand(dataDir, "list", "--json")).stdout;
    const found: ApiKey[] = JSON.parse(all).keys;
    assert.deepEqual(
      found.slice(0, 2).map((key) => key.id),
      [second.key.id, id],
    );
    assert.ok(found.length >= Object.keys(keys).length + 2);
    assert.notEqual(found[1]!.revoked_at, null);
    assert.doesNotMatch(all + listed.stdout, new RegExp(`${secret}|hash|[0-9a-f]{64}`));
    const none = await keysCommand(dataDir, "revoke", "0123456789abcdef");
    assert.equal(none.code, 1);
    assert.match(none.stderr, /not_found[\s\S]*there is no key 0123456789abcdef/);
  });
});
