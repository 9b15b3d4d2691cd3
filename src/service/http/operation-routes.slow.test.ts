import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { forecastViewSchema } from "../../contract/api/forecast-view.ts";
import { operationPageSchema, operationSchema } from "../../contract/api/operation-view.ts";
import { EXAMPLE_PAYLOADS } from "./examples.ts";
import { ask, eventually, type Listening, listen } from "./listening.testing.ts";

const CALLER = { subject: "local", scopes: new Set(["read", "write"] as const) };

let service: Listening;
before(async () => {
  service = await listen();
});
after(() => service.close());

async function submitted(operation: "run_ml_job" | "run_dl_job" = "run_ml_job"): Promise<string> {
  const payload = JSON.stringify(EXAMPLE_PAYLOADS[operation]);
  return (await service.operations.submit(CALLER, { operation, payload })).operation.id;
}

function get(path: string, headers: Record<string, string> = {}) {
  return fetch(`${service.origin}${path}`, { headers });
}

test("GET answers with the operation, and with Retry-After until it has ended", async () => {
  const id = await submitted();
  const waiting = await get(`/v1/operations/${id}`);
  assert.equal(operationSchema.parse(await waiting.json()).status, "NotStarted");
  assert.equal(waiting.headers.get("retry-after"), "1");
  assert.equal(waiting.headers.get("operation-location"), `${service.origin}/v1/operations/${id}`);
  service.operations.start(id);
  service.operations.end(id);
  const ended = await get(`/v1/operations/${id}`);
  assert.equal(operationSchema.parse(await ended.json()).status, "Succeeded");
  assert.equal(ended.headers.get("retry-after"), null);
  await eventually(() => service.logged.some((line) => line.includes(`"operation_id":"${id}"`)));
  const head = await fetch(`${service.origin}/v1/operations/${id}`, { method: "HEAD" });
  assert.deepEqual([head.status, await head.text()], [200, ""]);
});

test("GET waits for the end with Prefer: wait", async () => {
  const id = await submitted();
  const before = service.operations.listeners;
  const pending = get(`/v1/operations/${id}`, { prefer: "wait=60" });
  await eventually(() => service.operations.listeners !== before);
  service.operations.start(id);
  service.operations.end(id);
  const answer = await pending;
  assert.deepEqual([answer.status, answer.headers.get("preference-applied")], [200, "wait=60"]);
  assert.equal(operationSchema.parse(await answer.json()).status, "Succeeded");
});

test("a forecast takes tickers or limit, and the fault of a wrong query names its key", async () => {
  const id = await submitted();
  const path = `/v1/operations/${id}/forecast`;
  const early = await get(path);
  assert.deepEqual([early.status, ((await early.json()) as { code: string }).code], [409, "no_result"]);
  service.operations.start(id);
  service.operations.end(id);
  for (const [query, count] of [
    ["?tickers=A", 1],
    ["?tickers=A&tickers=B%26C", 2],
    ["?limit=5", 20],
    ["", 20],
  ] as const) {
    const view = forecastViewSchema.parse(await (await get(`${path}${query}`)).json());
    assert.deepEqual([view.id, view.count], [id, count], query);
  }
  for (const [query, fault] of [
    ...["0", "0x3", "%2B3", "%203", "3.0", "3e0", ""].map(
      (limit) => [`?limit=${limit}`, "query.limit"] as const,
    ),
    ["?tickers=A&limit=1", "query.limit"],
    ["?tickers=", "query.tickers[0]"],
    [`?${"tickers=A&".repeat(51)}`, "query.tickers"],
    ["?ticker=A", "query.ticker"],
  ] as const) {
    const answer = await get(`${path}${query}`);
    const problem = (await answer.json()) as { faults: { path: string }[] };
    assert.deepEqual([answer.status, problem.faults.map(({ path }) => path)], [400, [fault]], query);
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
    for (const [method, path] of [
      ["GET", `/v1/operations/${id}`],
      ["GET", `/v1/operations/${id}/events`],
      ["GET", `/v1/operations/${id}/forecast`],
      ["POST", `/v1/operations/${id}/cancel`],
    ] as const) {
      const answer = await ask(service.port, { method, path });
      assert.deepEqual([answer.status, JSON.parse(answer.text).code], [status, code], `${method} ${path}`);
    }
  }
});

test("a list is newest first, in pages, by status and job", async () => {
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) ids.unshift(await submitted("run_dl_job"));
  const first = operationPageSchema.parse(
    await (await get("/v1/operations?limit=2&operation=run_dl_job")).json(),
  );
  assert.deepEqual(
    first.operations.map(({ id }) => id),
    ids.slice(0, 2),
  );
  const path = `/v1/operations?limit=2&operation=run_dl_job&cursor=${first.next_cursor}`;
  const second = operationPageSchema.parse(await (await get(path)).json());
  assert.deepEqual([second.operations.map(({ id }) => id), second.next_cursor], [ids.slice(2), null]);
  const none = operationPageSchema.parse(await (await get("/v1/operations?status=Failed")).json());
  assert.deepEqual(none.operations, []);
});

test("an unknown or invalid query key is refused, with the nearest right name", async () => {
  for (const [query, path, suggestion] of [
    ["limti=3", "query.limti", "limit"],
    ["status=Runing", "query.status", "Running"],
    ["limit=101", "query.limit", undefined],
    ["limit=x", "query.limit", undefined],
    ["limit=0x3", "query.limit", undefined],
    ["limit=1&limit=2", "query.limit", undefined],
  ] as const) {
    const answer = await get(`/v1/operations?${query}`);
    const problem = (await answer.json()) as {
      code: string;
      faults: { path: string; suggestion?: string }[];
    };
    assert.deepEqual([answer.status, problem.code], [400, "invalid_request"], query);
    assert.deepEqual([problem.faults[0]!.path, problem.faults[0]!.suggestion], [path, suggestion]);
  }
});

test("cancel needs no body, and accepts any", async () => {
  for (const [headers, body] of [
    [{}, undefined],
    [{ "content-type": "application/json" }, ""],
    [{ "content-type": "application/json" }, "{"],
    [{ "content-type": "text/plain" }, "stop"],
    [{ "content-type": "odd" }, "stop"],
    [{ "content-type": "application/x-www-form-urlencoded" }, "a=b"],
    [{ "content-type": "multipart/form-data; boundary=x" }, "--x--"],
  ] as const) {
    const id = await submitted();
    const path = `/v1/operations/${id}/cancel`;
    const answer = await ask(service.port, { method: "POST", path, headers }, body);
    assert.deepEqual(
      [answer.status, JSON.parse(answer.text).status],
      [200, "Canceled"],
      JSON.stringify(headers),
    );
  }
});

test("cancel answers 202 for a running job, and 200 once it has ended", async () => {
  const id = await submitted();
  service.operations.start(id);
  const asked = await ask(service.port, { method: "POST", path: `/v1/operations/${id}/cancel` });
  assert.deepEqual([asked.status, JSON.parse(asked.text).status], [202, "Running"]);
  service.operations.end(id);
  const again = await ask(service.port, { method: "POST", path: `/v1/operations/${id}/cancel` });
  assert.deepEqual([again.status, JSON.parse(again.text).status], [200, "Succeeded"]);
});
