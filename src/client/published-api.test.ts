import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { OpenApiDocument } from "../service/http/document.ts";
import { MucastClient } from "./client.ts";
import { operation, SUCCEEDED, sent } from "./fake-service.testing.ts";

const document: OpenApiDocument = JSON.parse(readFileSync("schemas/openapi.json", "utf8"));

interface SentRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: readonly string[];
}

/** The members by which the client recognises the answers of other operations. */
const LISTS = { forecasts: [], operations: [], blobs: [], next_cursor: null };
const ANSWER = { ...LISTS, output_name: "o", waiting: 0, url: "u", feature_url: "f", tickers: [] };

/** The requests that a method of the client sends; how it uses the answer does not matter. */
async function requestOf(use: (client: MucastClient) => Promise<unknown>): Promise<SentRequest> {
  const asked: SentRequest[] = [];
  const client = new MucastClient({
    baseUrl: "http://fake",
    fetch: async (url, init) => {
      const { method = "GET", headers } = init!;
      asked.push({ method: method.toLowerCase(), url: new URL(String(url)), headers: Object.keys(headers!) });
      if (String(url).endsWith("/events")) {
        const headers = { "content-type": "text/event-stream" };
        return new Response(`${sent(5, "succeeded", SUCCEEDED)}\n`, { headers });
      }
      if (new URL(String(url)).pathname.endsWith("/report"))
        return new Response("<!doctype html>", { headers: { "content-type": "text/html; charset=utf-8" } });
      return Response.json({ ...operation(), ...ANSWER });
    },
  });
  await use(client);
  assert.equal(asked.length, 1);
  return asked[0]!;
}

const PAYLOAD = { feature_url: "f", data_extractor_url: "d", config: {} };
const METHODS: Readonly<Record<string, (client: MucastClient) => Promise<unknown>>> = {
  run_ml_job: (client) => client.runMlJob(PAYLOAD, { idempotencyKey: "k", wait: 3 }),
  run_dl_job: (client) => client.runDlJob(PAYLOAD, { idempotencyKey: "k", wait: 3 }),
  validate_job: (client) => client.validate({ ...PAYLOAD, operation: "run_ml_job" }),
  audit: (client) => client.audit({ ...PAYLOAD, quick: true }, { idempotencyKey: "k", wait: 3 }),
  replay: (client) => client.replay({ output_url: "o" }, { idempotencyKey: "k", wait: 3 }),
  get_report: (client) => client.getReport("one"),
  create_report_link: (client) => client.createReportLink("one"),
  create_comparison_link: (client) => client.createComparisonLink(["one", "two"]),
  get_verdict: (client) => client.getVerdict("one"),
  get_payload: (client) => client.getPayload("one"),
  get_operation: (client) => client.getOperation("one"),
  get_forecast: (client) => client.getForecast("one", { tickers: ["A", "B&C"], limit: 5 }),
  list_operations: (client) =>
    client.listOperations({
      status: "Running",
      operation: "run_ml_job",
      tag: ["a", "b"],
      limit: 5,
      cursor: "c",
    }),
  get_queue: (client) => client.getQueue(),
  cancel_operation: (client) => client.cancelOperation("one"),
  follow_operation: async (client) => {
    for await (const _event of client.events("one", { lastEventId: 4 })) return;
  },
  list_blobs: (client) => client.listBlobs({ kind: "prices", limit: 5, cursor: "c" }),
  write_blob: (client) => client.putBlob("feature_engine_1.json", "{}", { isNew: true }),
  prepare: (client) => client.prepare("Date,A\n", { id: "x", start: "2020-01-01", tickers: ["A", "B"] }),
  delete_blob: (client) => client.deleteBlob("feature_engine_1.json"),
  read_blob: (client) => client.getBlob("feature_engine_1.json", { range: "bytes=-10" }),
};

test("every method of the client calls an operation of the OpenAPI document with its parameters", async () => {
  for (const [name, use] of Object.entries(METHODS)) {
    const { method, url, headers } = await requestOf(use);
    const [template, methods] = Object.entries(document.paths).find(([path]) => matches(path, url.pathname))!;
    const found = methods[method]!;
    assert.equal(found.operationId, name, `${method} ${template}`);
    const named = (place: string) =>
      (found.parameters ?? [])
        .filter((parameter) => parameter.in === place)
        .map((parameter) => parameter.name);
    for (const query of url.searchParams.keys())
      assert.ok(named("query").includes(query), `${name}: ${query}`);
    const known = ["accept", "content-type", ...named("header").map((header) => header.toLowerCase())];
    for (const header of headers) assert.ok(known.includes(header), `${name}: ${header}`);
  }
});

test("the client has a method for everything that callers do with jobs, operations and blobs", () => {
  const wanted = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods)
      .filter(({ tags }) => !tags.includes("Service"))
      .map(({ operationId }) => operationId),
  );
  assert.deepEqual(wanted.sort(), Object.keys(METHODS).sort());
});

function matches(template: string, path: string): boolean {
  const [expected, given] = [template.split("/"), path.split("/")];
  return (
    expected.length === given.length &&
    expected.every((part, at) => part.startsWith("{") || part === given[at])
  );
}
