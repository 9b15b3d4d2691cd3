import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { ERROR_TABLE } from "../../../contract/errors/error-codes.ts";
import { ask, type Listening, listen, listenFor } from "../listening.testing.ts";

let service: Listening;
let description: string;
before(async () => {
  service = await listen();
  description = await descriptionOf(service.port);
});
after(() => service.close());

async function descriptionOf(port: number): Promise<string> {
  return JSON.parse((await ask(port, { path: "/openapi.json" })).text).info.description;
}

test("the document lists the limits of this service, each with its value and what it limits", () => {
  for (const row of [
    "| `upload_bytes` | 17179869184 bytes | Maximum size of an uploaded blob. |",
    "| `job_seconds` | 43200 s |",
    "| `retention_days` | 30 days |",
    "| `queued_per_caller` | 1000 |",
  ]) {
    assert.ok(description.includes(`\n${row}`), `${row} in ${description}`);
  }
});

test("the document lists every error code", () => {
  for (const [code, { status }] of Object.entries(ERROR_TABLE)) {
    assert.ok(description.includes(`\n| \`${code}\` | ${status} |`), code);
  }
});

test("every page that an error or the document names is served, and nothing else of its folder", async () => {
  const names = new Set(`${JSON.stringify(ERROR_TABLE)}${description}`.match(/\bdocs\/[\w-]+\.md/g));
  assert.ok(names.size > 0);
  for (const name of names) {
    const { status, headers, text } = await ask(service.port, { path: `/${name}` });
    assert.deepEqual([status, headers["content-type"]], [200, "text/plain; charset=utf-8"], name);
    assert.equal(text, readFileSync(name, "utf8"));
  }
  for (const path of ["/docs/none.md", "/docs/../package.json", "/docs/%2e%2e%2fREADME.md"])
    assert.equal((await ask(service.port, { path })).status, 404, path);
});

test("the curl lines name this service, and with keys they send one", async (t) => {
  assert.ok(
    description.includes(
      `curl -sS ${service.origin}/examples/feature_engine_sp500.parquet | curl -sS -T - ${service.origin}/data/feature_engine_sp500.parquet`,
    ),
  );
  assert.ok(!description.includes("MUCAST_API_KEY"));
  const shut = await listenFor(t, { auth: "keys", public_url: "https://forecasts.example" });
  const withKeys = await descriptionOf(shut.port);
  assert.match(
    withKeys,
    /-H "Authorization: Bearer \$MUCAST_API_KEY"[^\n]* "?https:\/\/forecasts\.example\/v1\/operations\//,
  );
});

test("the document names the origin of each request: as its server, in its examples and in its curl lines", async () => {
  const documentAt = async (host: string) =>
    (await ask(service.port, { path: "/openapi.json", headers: { host } })).text;
  const texts = await Promise.all(["localhost:1", "localhost:2", "localhost:1"].map(documentAt));
  assert.equal(texts[0], texts[2]);
  assert.equal(texts[0]!.replaceAll("localhost:1", "localhost:2"), texts[1]);
  const document = JSON.parse(texts[1]!);
  assert.deepEqual(document.servers, [{ url: "http://localhost:2" }]);
  assert.match(
    document.info.description,
    /Quick start[\s\S]* http:\/\/localhost:2\/data\/[\s\S]*`upload_bytes`/,
  );
  assert.match(JSON.stringify(document.paths), /"http:\/\/localhost:2\/data\/feature_engine_sp500\.parquet"/);
});
