/** Replays of outputs whose inputs are at URLs: a real https server that requires a signature, like a storage with SAS. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { newFolder, removeFolders } from "../../test/end-to-end/jobs/job-runs.ts";
import { openQuickEngine } from "../../test/end-to-end/jobs/shared-engines.ts";
import { cert, sendRange, serve, type TestServer } from "../blob/remote/remote-blob.testing.ts";
import type { ReplayBlob } from "../contract/output/replay-blob.ts";
import { runMlJob } from "../jobs/run-job.ts";
import { CONFIG, FEATURES, noEngine, PRICES, replay, TINY } from "./replay.testing.ts";

/** Blobs by name, and the signature that reading them requires; any if undefined. */
const blobs = new Map<string, Buffer>();
let signature: string | undefined;
let served: TestServer;
let container: string;
/** The text of an output whose inputs were read with a signature that was valid then. */
let text: string;

const at = (name: string, sig?: string) =>
  `${container}/data/${name}${sig === undefined ? "" : `?sig=${sig}`}`;

before(async () => {
  setDefaultCACertificates([...getCACertificates(), cert]);
  for (const name of [FEATURES, PRICES]) blobs.set(name, readFileSync(join(TINY, name)));
  served = await serve((request, response) => {
    const url = new URL(request.url!, container);
    if (signature !== undefined && url.searchParams.get("sig") !== signature)
      return response.writeHead(403).end();
    const content = blobs.get(basename(url.pathname));
    return content === undefined ? response.writeHead(404).end() : sendRange(request, response, content);
  });
  container = served.policy.allowed[0]!;
  signature = "first";
  const folder = await newFolder();
  const job = {
    id: "1",
    featureUrl: at(FEATURES, "first"),
    dataExtractorUrl: at(PRICES, "first"),
    blobUrl: folder,
    config: CONFIG,
  };
  const signal = new AbortController().signal;
  const { policy } = served;
  await runMlJob(job, { workers: 1, policy, report: () => undefined, signal, openEngine: openQuickEngine });
  text = readFileSync(join(folder, "data/ml_engine_1.json"), "utf8");
});
after(removeFolders);

/** The output in a separate folder. */
async function alone(): Promise<string> {
  const path = join(await newFolder(), "ml_engine_1.json");
  writeFileSync(path, text);
  return path;
}

const triedOf = ({ inputs }: ReplayBlob) =>
  inputs!.feature.tried.map(({ url, problem }) => [url.replace(container, ""), problem]);

describe("a replay of remote inputs", { timeout: 900_000 }, () => {
  test("reads the recorded URLs if they are open, over connections that check certificate and address", async () => {
    signature = undefined;
    const outputUrl = await alone();
    const { verdict, inputs } = await replay({ outputUrl }, openQuickEngine, served.policy);
    assert.equal(verdict, "identical");
    assert.equal(inputs!.feature.found!.url, at(FEATURES));

    const { allowed } = served.policy;
    const refused = await replay({ outputUrl }, noEngine, { allowed });
    assert.equal(refused.reason?.code, "inputs_gone", "the origin is not listed as a private one");
    const beside = [FEATURES, "blob_not_found"];
    assert.deepEqual(triedOf(refused), [[`/data/${FEATURES}`, "url_not_allowed"], beside]);
    setDefaultCACertificates(getCACertificates("bundled"));
    try {
      const untrusted = await replay({ outputUrl }, noEngine, served.policy);
      assert.deepEqual(triedOf(untrusted), [[`/data/${FEATURES}`, "blob_unavailable"], beside]);
    } finally {
      setDefaultCACertificates([...getCACertificates(), cert]);
    }
  });

  test("requests a fresh signature if the recorded URL had one: an output keeps none", async () => {
    assert.doesNotMatch(text, /sig=/);
    assert.equal(JSON.parse(text).provenance.feature_url, at(FEATURES));
    signature = "second";
    const outputUrl = await alone();
    const gone = await replay({ outputUrl }, noEngine, served.policy);
    assert.deepEqual([gone.verdict, gone.reason?.code], ["cannot_replay", "inputs_gone"]);
    assert.deepEqual(triedOf(gone), [
      [`/data/${FEATURES}`, "blob_unavailable"],
      [FEATURES, "blob_not_found"],
    ]);
    assert.match(gone.reason!.message, /data_extractor_tiny\.json: blob_unavailable/);
    assert.match(gone.reason!.advice, /--feature-url.*signature/s);

    const fresh = { featureUrl: at(FEATURES, "second"), dataExtractorUrl: at(PRICES, "second") };
    const again = await replay({ outputUrl, ...fresh }, openQuickEngine, served.policy);
    assert.equal(again.verdict, "identical");
    assert.equal(again.inputs!.feature.found!.url, at(FEATURES));

    const stale = { featureUrl: at(FEATURES, "first"), dataExtractorUrl: at(PRICES, "second") };
    const refused = await replay({ outputUrl, ...stale }, noEngine, served.policy);
    assert.equal(refused.reason?.code, "inputs_gone");
    assert.deepEqual(triedOf(refused), [[`/data/${FEATURES}`, "blob_unavailable"]]);
  });

  test("reads inputs beside an output at a URL with the signature of that URL", async () => {
    signature = "third";
    blobs.set("ml_engine_1.json", Buffer.from(text));
    const outputUrl = at("ml_engine_1.json", "third");
    const { verdict, output, inputs } = await replay({ outputUrl }, openQuickEngine, served.policy);
    assert.equal(verdict, "identical");
    assert.equal(output.url, at("ml_engine_1.json"));
    assert.equal(inputs!.data_extractor.found!.url, at(PRICES));
    const request = replay({ outputUrl: at("ml_engine_1.json", "first") }, noEngine, served.policy);
    await assert.rejects(request, { code: "blob_unavailable" });
  });

  test("reports a blob that has changed by the time the job reads it", async () => {
    signature = undefined;
    const outputUrl = await alone();
    const recorded = blobs.get(FEATURES)!;
    for (const [other, message] of [
      [Buffer.from(recorded.toString().replace("0.0", "0.1")), /feature_engine_tiny\.json.* changed while/],
      [Buffer.from("{"), /feature_engine_tiny\.json had the SHA-256 .*changed while/],
    ] as const) {
      const openChanging: typeof openQuickEngine = (need) => {
        blobs.set(FEATURES, other);
        return openQuickEngine(need);
      };
      const { verdict, reason } = await replay({ outputUrl }, openChanging, served.policy);
      blobs.set(FEATURES, recorded);
      assert.deepEqual([verdict, reason?.code], ["differs", "inputs"]);
      assert.match(reason!.message, message);
    }
  });

  test("follows no redirect, and reads no blob of another container", async () => {
    const elsewhere = await serve((_, response) => response.writeHead(302, { location: at(FEATURES) }).end());
    const path = join(await newFolder(), "ml_engine_1.json");
    const other = elsewhere.policy.allowed[0]!;
    writeFileSync(path, text.replaceAll(container, other));
    const both = [...served.policy.allowed, other];
    const origins = [served.policy, elsewhere.policy].flatMap(({ privateOrigins }) => privateOrigins!);
    const verdict = await replay({ outputUrl: path }, noEngine, { allowed: both, privateOrigins: origins });
    assert.deepEqual(verdict.inputs!.feature.tried[0]!.problem, "url_not_allowed");
    const count = elsewhere.requests.length;
    await replay({ outputUrl: path }, noEngine, served.policy);
    assert.equal(elsewhere.requests.length, count, "it is not asked");
  });
});
