import assert from "node:assert/strict";
import { after, test } from "node:test";
import { forecastViewSchema } from "../../contract/api/forecast-view.ts";
import { operationSchema } from "../../contract/api/operation-view.ts";
import { EXAMPLE_PAYLOADS, ML_PAYLOAD } from "./examples.ts";
import { ask, codeOf, eventually, listen } from "./listening.testing.ts";

const service = await listen({ body_bytes: 4_096 });
after(() => service.close());

const JSON_TYPE = { "content-type": "application/json" };
const BODY = JSON.stringify(ML_PAYLOAD);

type Headers = Record<string, string>;
const get = (path: string, headers: Headers = {}, method = "GET") =>
  ask(service.port, { method, path, headers });
const post = (body: string | Uint8Array, headers: Headers = {}, path = "/v1/run_ml_job") =>
  ask(service.port, { method: "POST", path, headers: { ...JSON_TYPE, ...headers } }, body);

const { submit, finish } = service;

test("a submitted job is answered with 202, its operation and the operation's URL", async () => {
  for (const operation of ["run_ml_job", "run_dl_job"] as const) {
    const answer = await post(JSON.stringify(EXAMPLE_PAYLOADS[operation]), {}, `/v1/${operation}`);
    const view = operationSchema.parse(JSON.parse(answer.text));
    const path = `/v1/operations/${view.id}`;
    assert.equal(answer.status, 202);
    assert.equal(answer.headers["operation-location"], `${service.origin}${path}`);
    assert.equal(answer.headers.location, `${service.origin}${path}`);
    assert.equal(answer.headers["retry-after"], "1");
    assert.deepEqual(JSON.parse((await get(path)).text), view);
  }
});

test("the job gets the text of the body, and the trace context of the request", async () => {
  const text = BODY.replace('"alpha":0.1}', '"alpha": 0.10}');
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const { id } = JSON.parse((await post(text, { traceparent })).text);
  const submission = service.operations.submissionOf(id);
  assert.deepEqual([submission.payload, submission.traceparent], [text, traceparent]);
});

test("the same Idempotency-Key and body give the same 202 and Location, another body or job a conflict; a malformed key is refused", async () => {
  const headers = { "idempotency-key": "nightly-2026-01-05" };
  const first = await post(BODY, headers);
  await finish(JSON.parse(first.text).id);
  const second = await post(BODY, headers);
  assert.deepEqual([first.status, second.status], [202, 202]);
  assert.equal(second.headers.location, first.headers.location);
  assert.equal(second.headers["retry-after"], "1");
  const other = JSON.stringify({ ...ML_PAYLOAD, config: { "ML params": { model: "lasso" } } });
  assert.deepEqual(codeOf(await post(other, headers)), [422, "idempotency_conflict"]);
  const network = { "Dot prediction": { "current option": "mlp" } };
  const config = { ...ML_PAYLOAD.config, "NN params": network };
  const both = JSON.stringify({ ...ML_PAYLOAD, config });
  const key = { "idempotency-key": "of-one-job" };
  assert.equal((await post(both, key)).status, 202);
  assert.deepEqual(codeOf(await post(both, key, "/v1/run_dl_job")), [422, "idempotency_conflict"]);
  for (const key of ["a b", "x".repeat(256), "schlüssel"]) {
    const answer = await post(BODY, { "idempotency-key": Buffer.from(key).toString("latin1") });
    const { code, path } = JSON.parse(answer.text);
    assert.deepEqual([answer.status, code, path], [400, "invalid_request", "headers.idempotency-key"]);
  }
});

test("with Prefer: wait an answer waits for the end; a submission is then answered with 200, and otherwise with 202", async () => {
  const short = await post(BODY, { prefer: "respond-async, wait=0" });
  assert.deepEqual([short.status, short.headers["preference-applied"]], [202, "wait=0"]);
  const key = { "idempotency-key": "waited-for" };
  const pending = post(BODY, { prefer: "wait=600", ...key });
  await finish(JSON.parse((await post(BODY, key)).text).id);
  const answer = await pending;
  const id = await submit();
  const before = service.operations.listeners;
  const waiting = get(`/v1/operations/${id}`, { prefer: "wait=60" });
  await eventually(() => service.operations.listeners !== before);
  await finish(id);
  for (const { status, headers, text } of [answer, await waiting]) {
    assert.deepEqual([status, headers["preference-applied"]], [200, "wait=60"]);
    assert.equal(operationSchema.parse(JSON.parse(text)).status, "Succeeded");
  }
});

test("a body is JSON of any of its types, valid and within the limit", async () => {
  for (const type of ["application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.acme+json"])
    assert.equal((await post(BODY, { "content-type": type })).status, 202, type);
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
    assert.deepEqual(codeOf(await post(BODY, { "content-type": type })), [415, "unsupported_media_type"]);
  for (const body of ["", "{", new Uint8Array([0x22, 0xff, 0x22]), "[]", "null"])
    assert.deepEqual(codeOf(await post(body)), [400, "invalid_request"], String(body));
  const large = " ".repeat(5_000);
  for (const headers of [{}, { "transfer-encoding": "chunked" }] as Headers[])
    assert.deepEqual(codeOf(await post(large, headers)), [413, "too_large"]);
});

test("GET answers with the operation, and with Retry-After until it has ended", async () => {
  const id = await submit();
  const path = `/v1/operations/${id}`;
  const waiting = await get(path);
  assert.equal(operationSchema.parse(JSON.parse(waiting.text)).status, "NotStarted");
  assert.equal(waiting.headers["retry-after"], "1");
  assert.equal(waiting.headers["operation-location"], `${service.origin}${path}`);
  await finish(id);
  const ended = await get(path);
  assert.equal(operationSchema.parse(JSON.parse(ended.text)).status, "Succeeded");
  assert.equal(ended.headers["retry-after"], undefined);
  await eventually(() => service.logged.some((line) => line.includes(`"operation_id":"${id}"`)));
  const head = await get(path, {}, "HEAD");
  assert.deepEqual([head.status, head.text], [200, ""]);
});

test("a forecast takes tickers or limit, and the fault of a wrong query names its key", async () => {
  const id = await submit();
  const path = `/v1/operations/${id}/forecast`;
  assert.deepEqual(codeOf(await get(path)), [409, "no_result"]);
  await finish(id);
  for (const [query, count] of [
    ["?tickers=A", 1],
    ["?tickers=A&tickers=B%26C", 2],
    ["?limit=5", 20],
    ["", 20],
  ] as const) {
    const view = forecastViewSchema.parse(JSON.parse((await get(`${path}${query}`)).text));
    assert.deepEqual([view.id, view.count], [id, count], query);
  }
  for (const [query, fault] of [
    ["?limit=0x3", "query.limit"],
    ["?tickers=A&limit=1", "query.limit"],
    ["?tickers=", "query.tickers[0]"],
    [`?${"tickers=A&".repeat(51)}`, "query.tickers"],
    ["?ticker=A", "query.ticker"],
  ] as const) {
    const answer = await get(`${path}${query}`);
    const { faults } = JSON.parse(answer.text) as { faults: { path: string }[] };
    assert.deepEqual([answer.status, faults.map(({ path }) => path)], [400, [fault]], query);
  }
});

test("an unknown id is not_found, and a malformed one invalid_request", async () => {
  for (const [id, status, code] of [
    ["unknown", 404, "not_found"],
    ["a.b", 400, "invalid_request"],
    ["x".repeat(65), 400, "invalid_request"],
    ["x".repeat(2_000), 404, "not_found"],
    ["%2e%2e%2fetc", 400, "invalid_request"],
  ] as const) {
    for (const [method, rest] of [
      ["GET", ""],
      ["GET", "/events"],
      ["GET", "/forecast"],
      ["POST", "/cancel"],
    ] as const)
      assert.deepEqual(codeOf(await get(`/v1/operations/${id}${rest}`, {}, method)), [status, code], rest);
  }
});

test("an unknown or invalid query key is refused, with the nearest right name", async () => {
  for (const [query, path, suggestion] of [
    ["limti=3", "query.limti", "limit"],
    ["status=Runing", "query.status", "Running"],
    ["limit=101", "query.limit", undefined],
    ["limit=1&limit=2", "query.limit", undefined],
  ] as const) {
    const answer = await get(`/v1/operations?${query}`);
    const { code, faults } = JSON.parse(answer.text);
    assert.deepEqual([answer.status, code], [400, "invalid_request"], query);
    assert.deepEqual([faults[0].path, faults[0].suggestion], [path, suggestion]);
  }
});

test("cancel needs no body, and accepts any; it answers 202 until a running job has ended", async () => {
  for (const [type, body] of [
    [undefined, undefined],
    ["application/json", "{"],
    ["text/plain", "stop"],
    ["odd", "stop"],
    ["multipart/form-data; boundary=x", "--x--"],
  ] as const) {
    const path = `/v1/operations/${await submit()}/cancel`;
    const headers = type === undefined ? {} : { "content-type": type };
    const answer = await ask(service.port, { method: "POST", path, headers }, body);
    assert.deepEqual([answer.status, JSON.parse(answer.text).status], [200, "Canceled"], type);
  }
  const id = await submit();
  await service.operations.start(id);
  for (const wanted of [
    [202, "Running"],
    [200, "Succeeded"],
  ]) {
    const { status, text } = await get(`/v1/operations/${id}/cancel`, {}, "POST");
    assert.deepEqual([status, JSON.parse(text).status], wanted);
    if (status === 202) await service.operations.end(id);
  }
});
