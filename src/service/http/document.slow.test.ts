import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { API_OPERATIONS } from "../../contract/api/operations.ts";
import { EVENT_TYPES } from "../../contract/api/stored-event.ts";
import { parsePayload } from "../../contract/config/payload.ts";
import { ERROR_TABLE } from "../../contract/errors/error-codes.ts";
import { makeDocument } from "./build-http.ts";
import type { OpenApiDocument } from "./document.ts";
import { EXAMPLE_PAYLOADS, ML_PAYLOAD } from "./examples.ts";
import { ANSWER_HEADERS, METHODS, REQUEST_HEADERS } from "./guard.ts";
import { ask, type Listening, listen, listenFor } from "./listening.testing.ts";

const document = await makeDocument();
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
);
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).addSchema({
  $id: "https://document.example/",
  components: document.components,
});

const STREAM = "text/event-stream";
const HTTP_PAGE = readFileSync("docs/http.md", "utf8");

/** Codes that only the problem of a failed operation or the command line has. */
const NOT_ANSWERED = [
  ...["fit_failed", "engine_unavailable", "engine_crashed", "out_of_memory", "canceled"],
  ...["diverged", "execution_lost", "cannot_listen", "tracking_failed"],
];

/** Checks a value by a schema of the document. */
function assertValid(schema: object, value: unknown, where?: string): void {
  const text = JSON.stringify(schema).replaceAll("#/components/", "https://document.example/#/components/");
  const check = ajv.compile(JSON.parse(text));
  assert.ok(check(value), `${where}: ${JSON.stringify(check.errors)}`);
}

describe("the OpenAPI document", () => {
  test("has the name, title, method and path of every API operation", () => {
    for (const { name, title, method, path } of Object.values(API_OPERATIONS)) {
      const operation = document.paths[path]![method.toLowerCase()]!;
      assert.deepEqual([operation.operationId, operation.summary], [name, title]);
    }
    const ids = operations.map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(!ids.some((id) => id.includes("key")), "the routes of the operator are not published");
  });

  test("has examples for bodies and answers, each valid by its schema, and of payloads that jobs accept", () => {
    let examples = 0;
    for (const { path, operation } of operations) {
      for (const { content = {} } of [operation.requestBody ?? {}, ...Object.values(operation.responses)]) {
        for (const media of Object.values(content)) {
          for (const [name, { value }] of Object.entries(media.examples ?? {})) {
            assertValid(media.schema, value, `${path} ${name}`);
            examples += 1;
          }
        }
      }
    }
    assert.ok(examples > 80, String(examples));
    for (const name of ["run_ml_job", "run_dl_job"] as const)
      parsePayload(name, JSON.stringify(EXAMPLE_PAYLOADS[name]));
  });

  test("describes problems by status and code, as problem details, with every code that a request can get", () => {
    for (const { path, operation } of operations) {
      for (const [status, { content = {} }] of Object.entries(operation.responses)) {
        const isEmpty = ["204", "304", "408", "417", "431"].includes(status);
        const types = Object.keys(content).join();
        const isAnswer = Number(status) < 400 && types !== "";
        assert.ok(isAnswer || types === (isEmpty ? "" : "application/problem+json"), `${path} ${status}`);
        for (const { value } of Object.values(content["application/problem+json"]?.examples ?? {}))
          assert.equal((value as { status: number }).status, Number(status));
      }
    }
    const text = JSON.stringify(document.paths);
    const answered = Object.keys(ERROR_TABLE).filter((code) => text.includes(`\`${code}\`:`));
    assert.deepEqual(
      [...answered, ...NOT_ANSWERED].sort(),
      Object.keys(ERROR_TABLE).sort(),
      "each code is in the problemAnswers of its routes, or in NOT_ANSWERED",
    );
  });

  test("has a schema for each type of event, and docs/http.md names it", () => {
    const kinds = Object.entries(document.components.schemas).filter(([name]) => /^Event./.test(name));
    const types = kinds.map(([, { properties }]) => (properties as { type: { const: string } }).type.const);
    assert.deepEqual(types.sort(), [...EVENT_TYPES].sort());
    const [, events] = /^## Events\n(.*?)^## /ms.exec(HTTP_PAGE)!;
    for (const type of [...types, "snapshot"]) assert.ok(events!.includes(`\`${type}\``), type);
  });

  test("has the routes and scopes that docs/http.md has", () => {
    const [, table] = /^## Routes\n(.*?)^HEAD /ms.exec(HTTP_PAGE)!;
    for (const { method, path, operation } of operations) {
      const route = `${method.toUpperCase()} ${path}`;
      const row = table!
        .split("\n")
        .find((line) => line.includes(`\`${route}\``) || line.includes(`, \`${path}\``));
      assert.ok(row, `docs/http.md has no row for ${route}`);
      assert.ok(row.split("|")[2]!.includes(operation["x-scope"] ?? "none"), row);
    }
  });

  test("has only methods and headers that a page of an allowed origin may use", () => {
    const sent = operations.flatMap(({ operation }) => operation.parameters ?? []);
    const received = operations
      .flatMap(({ operation }) => Object.entries(operation.responses))
      .flatMap(([status, { headers = {} }]) => (Number(status) < 400 ? Object.keys(headers) : []));
    const without = (names: string[], allowed: string[]) => names.filter((name) => !allowed.includes(name));
    const sentHeaders = sent.filter((given) => given.in === "header").map(({ name }) => name);
    const methods = operations.map(({ method }) => method.toUpperCase());
    assert.deepEqual(without(methods, METHODS), [], "the lists are in guard.ts");
    assert.deepEqual(without(sentHeaders, REQUEST_HEADERS), []);
    assert.deepEqual(without(received, ANSWER_HEADERS), []);
  });
});

const service = await listen();
after(() => service.close());
const { description } = (await shownBy(service)).info;

async function shownBy({ port }: Listening, headers: Record<string, string> = {}): Promise<OpenApiDocument> {
  return JSON.parse((await ask(port, { path: "/openapi.json", headers })).text);
}

test("the answers of a service match its document", async () => {
  const payload = { method: "POST", body: JSON.stringify(ML_PAYLOAD) };
  const headers = { "content-type": "application/json" };
  const submitted = await fetch(`${service.origin}/v1/run_ml_job`, { ...payload, headers });
  const { id } = (await submitted.json()) as { id: string };
  for (const { method, path, operation } of operations) {
    const url = service.origin + path.replace("{id}", id).replace("{name}", "feature_engine_a.json");
    const controller = new AbortController();
    const answer = await fetch(url, { method: method.toUpperCase(), signal: controller.signal });
    const documented = operation.responses[String(answer.status)];
    assert.ok(documented, `${method} ${path}: ${answer.status}`);
    const type = answer.headers.get("content-type")?.split(";")[0];
    if (answer.status === 204) continue;
    if (type === STREAM) {
      controller.abort();
      continue;
    }
    const media = documented.content?.[type ?? ""];
    assert.ok(media, `${method} ${path}: ${type}`);
    const body = type!.includes("json") ? await answer.json() : await answer.text();
    assertValid(media.schema, body, `${method} ${path}`);
  }
});

test("a service with keys answers no documented operation with a scope to a request without a right key", async (t) => {
  const { port, keys } = await listenFor(t, { auth: "keys" });
  const { token } = await keys.create("ann", ["read", "write"]);
  const misspelt = token.replace(/.$/, (last) => (last === "A" ? "E" : "A"));
  for (const { method, path, operation } of operations) {
    if (operation["x-scope"] === undefined) continue;
    for (const authorization of [undefined, `Bearer ${misspelt}`, `Basic ${token}`]) {
      const headers = authorization === undefined ? {} : { authorization };
      const answer = await ask(port, {
        method: method.toUpperCase(),
        path: path.replace(/{\w+}/, "x"),
        headers,
      });
      assert.equal(answer.status, 401, `${method} ${path}`);
      assert.match(answer.headers["www-authenticate"]!, /^Bearer/);
    }
  }
});

test("a service shows the origin of the request: as its server, in its examples and in its curl lines", async (t) => {
  const [first, second] = [
    await shownBy(service, { host: "localhost:1" }),
    await shownBy(service, { host: "localhost:2" }),
  ];
  assert.equal(JSON.stringify(first).replaceAll("localhost:1", "localhost:2"), JSON.stringify(second));
  assert.deepEqual(second.servers, [{ url: "http://localhost:2" }]);
  assert.deepEqual(Object.keys(second.paths), Object.keys(document.paths));
  assert.match(JSON.stringify(second.paths), /"http:\/\/localhost:2\/data\/feature_engine_sp500\.parquet"/);
  const name = "feature_engine_sp500.parquet";
  const upload = `curl -sS ${service.origin}/examples/${name} | curl -sS -T - ${service.origin}/data/${name}`;
  assert.ok(description.includes(upload));
  assert.ok(!description.includes("MUCAST_API_KEY"));
  const shut = await listenFor(t, { auth: "keys", public_url: "https://forecasts.example" });
  assert.match(
    (await shownBy(shut)).info.description,
    /-H "Authorization: Bearer \$MUCAST_API_KEY"[^\n]* "?https:\/\/forecasts\.example\/v1\/operations\//,
  );
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
