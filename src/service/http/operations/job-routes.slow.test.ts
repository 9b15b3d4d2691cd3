import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { operationSchema } from "../../../contract/api/operation-view.ts";
import { ask, eventually, type Listening, listen, listenFor } from "../listening.testing.ts";
import { EXAMPLE_PAYLOADS, ML_PAYLOAD } from "../openapi/examples.ts";

let service: Listening;
before(async () => {
  service = await listen({ body_bytes: 4_096 });
});
after(() => service.close());

const JSON_TYPE = { "content-type": "application/json" };

function post(
  body: string | Uint8Array,
  headers: Record<string, string> = JSON_TYPE,
  path = "/v1/run_ml_job",
) {
  return fetch(`${service.origin}${path}`, { method: "POST", body: body as string, headers });
}

async function codeOf(pending: Promise<Response>): Promise<[number, string]> {
  const answer = await pending;
  assert.match(answer.headers.get("content-type") ?? "", /^application\/problem\+json/);
  return [answer.status, ((await answer.json()) as { code: string }).code];
}

test("a submitted job is answered with 202, its operation and the operation's URL", async () => {
  for (const [path, payload] of [
    ["/v1/run_ml_job", ML_PAYLOAD],
    ["/v1/run_dl_job", EXAMPLE_PAYLOADS.run_dl_job],
  ] as const) {
    const answer = await post(JSON.stringify(payload), JSON_TYPE, path);
    const operation = operationSchema.parse(await answer.json());
    const url = `${service.origin}/v1/operations/${operation.id}`;
    assert.equal(answer.status, 202);
    assert.equal(answer.headers.get("operation-location"), url);
    assert.equal(answer.headers.get("location"), url);
    assert.equal(answer.headers.get("retry-after"), "1");
    assert.deepEqual(await (await fetch(url)).json(), operation);
  }
});

test("the payload is submitted as the text of the body", async () => {
  const text = JSON.stringify(ML_PAYLOAD).replace('"alpha":1}', '"alpha": 1.0}');
  const { id } = operationSchema.parse(await (await post(text)).json());
  assert.equal(service.operations.submissionOf(id).payload, text);
});

test("the operation gets the trace context of the request", async () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const { id } = operationSchema.parse(
    await (await post(JSON.stringify(ML_PAYLOAD), { ...JSON_TYPE, traceparent })).json(),
  );
  assert.equal(service.operations.submissionOf(id).traceparent, traceparent);
});

test("the same Idempotency-Key and body give the same 202 and Location, and another body a conflict", async () => {
  const headers = { ...JSON_TYPE, "idempotency-key": "nightly-2026-01-05" };
  const [first, second] = [
    await post(JSON.stringify(ML_PAYLOAD), headers),
    await post(JSON.stringify(ML_PAYLOAD), headers),
  ];
  assert.deepEqual([first.status, second.status], [202, 202]);
  assert.equal(second.headers.get("operation-location"), first.headers.get("operation-location"));
  const { id } = operationSchema.parse(await first.json());
  service.operations.start(id);
  service.operations.end(id);
  const third = await post(JSON.stringify(ML_PAYLOAD), headers);
  assert.deepEqual([third.status, third.headers.get("location")], [202, first.headers.get("location")]);
  assert.equal(third.headers.get("retry-after"), "1");
  const other = JSON.stringify({ ...ML_PAYLOAD, config: { "ML params": { model: "lasso" } } });
  assert.deepEqual(await codeOf(post(other, headers)), [422, "idempotency_conflict"]);
});

test("an Idempotency-Key with spaces, non-ASCII characters or more than 255 characters is refused", async () => {
  for (const key of ["a b", "x".repeat(256), "schlüssel"]) {
    const answer = await ask(
      service.port,
      {
        method: "POST",
        path: "/v1/run_ml_job",
        headers: { ...JSON_TYPE, "idempotency-key": Buffer.from(key).toString("latin1") },
      },
      JSON.stringify(ML_PAYLOAD),
    );
    const problem = JSON.parse(answer.text);
    assert.deepEqual(
      [answer.status, problem.code, problem.path],
      [400, "invalid_request", "headers.idempotency-key"],
    );
  }
});

test("with Prefer: wait the answer is 200 for an operation that has ended, and otherwise 202", async () => {
  const short = await post(JSON.stringify(ML_PAYLOAD), { ...JSON_TYPE, prefer: "respond-async, wait=0" });
  assert.deepEqual([short.status, short.headers.get("preference-applied")], [202, "wait=0"]);
  const pending = post(JSON.stringify(ML_PAYLOAD), {
    ...JSON_TYPE,
    prefer: "wait=600",
    "idempotency-key": "waited-for",
  });
  const { id } = operationSchema.parse(
    await (await post(JSON.stringify(ML_PAYLOAD), { ...JSON_TYPE, "idempotency-key": "waited-for" })).json(),
  );
  service.operations.start(id);
  service.operations.end(id);
  const answer = await pending;
  assert.deepEqual([answer.status, answer.headers.get("preference-applied")], [200, "wait=60"]);
  assert.equal(operationSchema.parse(await answer.json()).status, "Succeeded");
});

test("a wait ends when its caller disconnects", async () => {
  const controller = new AbortController();
  const headers = { ...JSON_TYPE, prefer: "wait=60", "idempotency-key": "gone" };
  const before = service.operations.listeners;
  const pending = fetch(`${service.origin}/v1/run_ml_job`, {
    method: "POST",
    body: JSON.stringify(ML_PAYLOAD),
    headers,
    signal: controller.signal,
  });
  await eventually(() => service.operations.listeners !== before);
  controller.abort();
  await assert.rejects(pending);
  await eventually(() => service.operations.listeners <= before);
});

test("a body that is not JSON is unsupported_media_type, and all types of JSON are accepted", async () => {
  const text = JSON.stringify(ML_PAYLOAD);
  for (const type of ["application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.acme+json"]) {
    assert.equal((await post(text, { "content-type": type })).status, 202, type);
  }
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"]) {
    assert.deepEqual(
      await codeOf(post(text, { "content-type": type })),
      [415, "unsupported_media_type"],
      type,
    );
  }
  const none = await ask(
    service.port,
    { method: "POST", path: "/v1/run_ml_job", headers: { "content-length": 2 } },
    "{}",
  );
  assert.equal(none.status, 415);
});

test("an empty body, broken JSON and invalid UTF-8 are invalid_request", async () => {
  const broken = [post(""), post("{"), post(new Uint8Array([0x22, 0xff, 0x22])), post("[]"), post("null")];
  for (const answer of broken) assert.deepEqual(await codeOf(answer), [400, "invalid_request"]);
  const without = fetch(`${service.origin}/v1/run_ml_job`, { method: "POST" });
  assert.deepEqual(await codeOf(without), [400, "invalid_request"]);
});

test("the problem lists every fault of a payload", async () => {
  const answer = await post('{"feature_url": 1, "config": {"ML params": {"model": "ridge", "n_split": 3}}}');
  const { faults } = (await answer.json()) as { faults: { path: string }[] };
  assert.deepEqual(faults.map(({ path }) => path).toSorted(), [
    "config.ML params.n_split",
    "data_extractor_url",
    "feature_url",
  ]);
});

test("a body over the limit is too_large, with Content-Length or without", async () => {
  const large = " ".repeat(5_000);
  assert.deepEqual(await codeOf(post(large)), [413, "too_large"]);
  const headers = { ...JSON_TYPE, "transfer-encoding": "chunked" };
  const answer = await ask(service.port, { method: "POST", path: "/v1/run_ml_job", headers }, large);
  assert.equal(answer.status, 413);
});

test("the URLs in answers have the public_url", async (t) => {
  const behind = await listenFor(t, { public_url: "https://forecasts.example/mucast/" });
  const answer = await fetch(`${behind.origin}/v1/run_ml_job`, {
    method: "POST",
    body: JSON.stringify(ML_PAYLOAD),
    headers: JSON_TYPE,
  });
  const { id } = operationSchema.parse(await answer.json());
  const url = `https://forecasts.example/mucast/v1/operations/${id}`;
  assert.deepEqual([answer.headers.get("operation-location"), answer.headers.get("location")], [url, url]);
});
