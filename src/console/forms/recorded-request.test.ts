import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { MucastClient } from "../../client/index.ts";
import { configText, provenanceIn, recordedRequest } from "./recorded-request.ts";

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The end of an output of 0.2.0 whose names and config are hostile. */
function tailOf(config: string | null, digest = sha256("another")): string {
  const provenance = {
    feature_url: "http://127.0.0.1:1/data/feature_engine_a.json",
    data_extractor_url: "data_extractor_a.json",
    config,
    config_sha256: digest,
    device: "cpu",
  };
  const warning = JSON.stringify({ message: '"provenance":{"feature_url":"https://evil"}' });
  return `0.1],"warnings":[${warning}],"provenance":${JSON.stringify(provenance)}}`;
}

test("the provenance is read from a part of an output, whatever texts are there", () => {
  const section = '{"model_params": {"x": "\\"provenance\\":{\\"feature_url\\":1}}"}}';
  assert.equal(provenanceIn(tailOf(section))?.config, section);
  assert.equal(provenanceIn(`${tailOf(null)}\n`)?.config, null);
  assert.equal(
    provenanceIn(`${tailOf(section).slice(0, -1)},"mu":{"A":0.1},"verdict":{"ti`)?.config,
    section,
  );
  for (const tail of [
    "",
    '{"provenance":{}}',
    '"provenance":{"feature_url":',
    "{}",
    tailOf(null).slice(0, -9),
  ])
    assert.equal(provenanceIn(tail), undefined, tail);
});

test("a config is written with the white space that gives the recorded digest, if that is a usual one", async () => {
  const section = '{"model":"ridge", "model_params":{"alpha":1.0}}';
  for (const text of [
    `{"ML params": ${section}}`,
    `{\n  "ML params": ${section}\n}\n`,
    `{\n    "ML params": ${section}\n  }`,
  ]) {
    assert.equal(await configText("ML params", section, sha256(text)), text);
  }
  assert.equal(await configText("ML params", section, sha256("other sections")), `{"ML params":${section}}`);
});

test("only the edges of an output are read, and a blob known by its name has the service's URL", async () => {
  const asked: string[] = [];
  const client = new MucastClient({
    baseUrl: "http://127.0.0.1:1",
    fetch: async (url, init) => {
      asked.push(`${url} ${new Headers(init?.headers).get("range")}`);
      return new Response(asked.length === 1 ? '{"mu":{' : tailOf("{}"), { status: 206 });
    },
  });
  const place = { baseUrl: "http://127.0.0.1:1/", signal: new AbortController().signal };
  assert.deepEqual(await recordedRequest(client, "nn_engine_a.json", place), {
    featureUrl: "http://127.0.0.1:1/data/feature_engine_a.json",
    dataExtractorUrl: "http://127.0.0.1:1/data/data_extractor_a.json",
    config: '{"NN params":{}}',
  });
  const url = "http://127.0.0.1:1/data/nn_engine_a.json";
  assert.deepEqual(asked, [`${url} bytes=0-262143`, `${url} bytes=-262144`]);
});
