import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../contract/errors/errors.ts";
import { problemOf } from "../contract/problems/problem.ts";
import { MucastApiError } from "./api-error.ts";
import { MucastClient } from "./client.ts";
import {
  type Answer,
  broken,
  FakeService,
  json,
  operation,
  refusal,
  SUCCEEDED,
} from "./fake-service.testing.ts";

const PAYLOAD = {
  feature_url: "http://127.0.0.1:8080/data/feature_engine_1.json",
  data_extractor_url: "http://127.0.0.1:8080/data/data_extractor_1.json",
  config: { "ML params": { model: "ridge" } },
};

async function against(
  answers: readonly Answer[],
  use: (client: MucastClient, service: FakeService) => Promise<void>,
): Promise<void> {
  await using service = new FakeService(...answers);
  await use(new MucastClient({ baseUrl: await service.listen(), apiKey: "a key of the test" }), service);
}

test("a job is submitted with its key, its credentials and the seconds to wait", () =>
  against([json(202, operation())], async (client, { requests }) => {
    assert.deepEqual(await client.runMlJob(PAYLOAD, { idempotencyKey: "k1", wait: 5 }), operation());
    const [{ method, url, headers, body }] = requests as [(typeof requests)[0]];
    assert.deepEqual([method, url], ["POST", "/v1/run_ml_job"]);
    assert.equal(headers["idempotency-key"], "k1");
    assert.equal(headers.prefer, "wait=5");
    assert.equal(headers.authorization, "Bearer a key of the test");
    assert.deepEqual(JSON.parse(body), PAYLOAD);
  }));

test("a config that is text is sent unchanged", () =>
  against([json(202, operation())], async (client, { requests }) => {
    const config =
      '{"ML params": {"model": "ridge", "model_params": {"alpha": 1.0, "seed": 1152921504606846977}}}';
    await client.runMlJob({ ...PAYLOAD, config });
    assert.ok(requests[0]!.body.endsWith(`"config":${config}}`));
    assert.deepEqual(Object.keys(JSON.parse(requests[0]!.body)), Object.keys(PAYLOAD));
  }));

test("a config whose text is not JSON is refused before anything is sent", () =>
  against([json(202, operation())], async (client, { requests }) => {
    assert.throws(() => client.runMlJob({ ...PAYLOAD, config: '{}, "feature_url": "x"' }), SyntaxError);
    assert.equal(requests.length, 0);
  }));

test("a redirect is an error, and is not followed", () =>
  against(
    [json(307, {}, { location: "https://elsewhere.example/login?state=private" })],
    async (client, { requests }) => {
      await assert.rejects(client.runMlJob(PAYLOAD, { idempotencyKey: "k" }), (error) => {
        assert.ok(error instanceof MucastApiError);
        assert.match(error.message, /answered 307: a redirect to https:\/\/elsewhere\.example\/login, which/);
        assert.doesNotMatch(error.message, /private/);
        return true;
      });
      assert.equal(requests.length, 1);
    },
  ));

test("an answer that breaks off is requested again if that is safe", async () => {
  const cut = (status: number): Answer => {
    return (_asked, response) => {
      response.writeHead(status, { "content-type": "application/json", "content-length": "400" });
      response.write('{"id":', () => response.destroy());
    };
  };
  await against([cut(202), cut(503), json(202, operation())], async (client, { requests }) => {
    assert.equal((await client.runMlJob(PAYLOAD, { idempotencyKey: "k" })).id, "one");
    assert.equal(requests.length, 3);
  });
  await against([cut(202)], async (client, { requests }) => {
    await assert.rejects(client.runMlJob(PAYLOAD), TypeError);
    assert.equal(requests.length, 1);
  });
});

test("work that took too long is not requested again, and an invalid page is an error", async () => {
  await against([refusal("timed_out")], async (client, { requests }) => {
    await assert.rejects(client.prepare("Date,A\n"), { code: "timed_out" });
    assert.equal(requests.length, 1);
  });
  await against([json(200, {})], (client) => assert.rejects(client.getReport("one"), /answered 200: \{\}/));
});

test("the error of an answer that is not an operation quotes it", async () => {
  for (const [status, text] of [
    [200, "<h1>sign in</h1>"],
    [200, "null"],
    [200, "{}"],
    [404, '{"code":"odd","detail":"gone"}'],
  ] as const) {
    const answer: Answer = (_asked, response) => void response.writeHead(status).end(text);
    await against([answer], (client) =>
      assert.rejects(client.getOperation("one"), (error) => {
        assert.ok(error instanceof MucastApiError);
        assert.equal(error.status, status);
        assert.match(error.message, status === 404 ? /^odd: gone$/ : /answered 200: /);
        return true;
      }),
    );
  }
});

test("a submit with a key survives a lost answer and a full queue", () =>
  against(
    [broken, refusal("rate_limited", { "retry-after": "0" }), json(202, operation())],
    async (client, { requests }) => {
      assert.equal((await client.runMlJob(PAYLOAD, { idempotencyKey: "k" })).id, "one");
      assert.deepEqual(
        requests.map(({ headers }) => headers["idempotency-key"]),
        ["k", "k", "k"],
      );
    },
  ));

test("a submit without a key is sent once", () =>
  against([broken], async (client, { requests }) => {
    await assert.rejects(client.runMlJob(PAYLOAD), TypeError);
    assert.equal(requests.length, 1);
  }));

test("a blob that is a stream is sent once", () =>
  against([refusal("unavailable", { "retry-after": "0" })], async (client, { requests }) => {
    await assert.rejects(client.putBlob("feature_engine_1.json", new Blob(["{}"]).stream()), /unavailable/);
    assert.equal(requests.length, 1);
  }));

test("an id cannot escape its segment of the path", () =>
  against([json(200, SUCCEEDED)], async (client, { requests }) => {
    await client.cancelOperation("../x?y");
    assert.equal(requests[0]!.url, "/v1/operations/..%2Fx%3Fy/cancel");
  }));

test("the client does not wait if the service asks for a long pause", () =>
  against([refusal("rate_limited", { "retry-after": "3600" })], async (client, { requests }) => {
    await assert.rejects(client.getOperation("one"), /rate_limited/);
    assert.equal(requests.length, 1);
  }));

test("after five repetitions the last refusal is the error", () =>
  against([refusal("unavailable", { "retry-after": "0" })], async (client, { requests }) => {
    await assert.rejects(client.getOperation("one"), /unavailable/);
    assert.equal(requests.length, 6);
  }));

test("an abort ends a call at once, even between attempts", () =>
  against([refusal("unavailable", { "retry-after": "30" })], async (client) => {
    const controller = new AbortController();
    const asking = client.getOperation("one", { signal: controller.signal });
    controller.abort(new Error("no longer wanted"));
    await assert.rejects(asking, /no longer wanted/);
  }));

test("all operations are fetched page by page", () =>
  against(
    [
      json(200, { operations: [operation({ id: "c" }), operation({ id: "b" })], next_cursor: "after b" }),
      json(200, { operations: [operation({ id: "a" })], next_cursor: null }),
    ],
    async (client, { requests }) => {
      const ids: string[] = [];
      for await (const { id } of client.allOperations({ status: "NotStarted", limit: 2 })) ids.push(id);
      assert.deepEqual(ids, ["c", "b", "a"]);
      assert.deepEqual(
        requests.map(({ url }) => url),
        [
          "/v1/operations?status=NotStarted&limit=2",
          "/v1/operations?status=NotStarted&limit=2&cursor=after+b",
        ],
      );
    },
  ));

test("a blob is uploaded, and read again", () =>
  against(
    [
      json(201, { url: "http://127.0.0.1:8080/data/feature_engine_1.json" }),
      json(200, { mu: { AAPL: 0.001 } }),
    ],
    async (client, { requests }) => {
      const { url, created } = await client.putBlob("feature_engine_1.json", '{"a": 1}');
      assert.equal(created, true);
      assert.equal(url, "http://127.0.0.1:8080/data/feature_engine_1.json");
      assert.deepEqual([requests[0]!.method, requests[0]!.body], ["PUT", '{"a": 1}']);
      const blob = await client.getBlob("ml_engine_one.json");
      // Whether its type is `any`, as the compiler reports.
      const isAny: 0 extends 1 & Awaited<ReturnType<typeof blob.json>> ? true : false = false;
      assert.equal(isAny, false);
      assert.deepEqual(await blob.json(), { mu: { AAPL: 0.001 } });
    },
  ));

test("the output of an operation is requested from its URL, and checked", () =>
  against(
    [json(200, { schema: "mucast.forecast/1", mu: { AAPL: "0.01" } })],
    async (client, { requests }) => {
      await assert.rejects(client.output(SUCCEEDED), {
        name: "TypeError",
        message: "this is not an output of mucast: operation must be text, got nothing",
      });
      assert.deepEqual(
        requests.map(({ method, url }) => [method, url]),
        [["GET", "/data/ml_engine_one.json"]],
      );
    },
  ));

test("an operation without an output is an error, and nothing is requested", () =>
  against([json(200, {})], async (client, { requests }) => {
    await assert.rejects(client.output(operation({ status: "Running" })), {
      name: "TypeError",
      message: "the operation one is Running: it has left no output",
    });
    const error = problemOf(new MucastError("all_failed", "no ticker is left"));
    await assert.rejects(client.output(operation({ status: "Failed", error })), (thrown) => {
      assert.ok(thrown instanceof MucastApiError);
      assert.deepEqual([thrown.code, thrown.operation?.id], ["all_failed", "one"]);
      return true;
    });
    assert.equal(requests.length, 0);
  }));

test("a blob is removed, and one in use is an error", () =>
  against(
    [(_asked, response) => void response.writeHead(204).end(), refusal("blob_in_use")],
    async (client, { requests }) => {
      assert.equal(await client.deleteBlob("feature_engine_1.json"), undefined);
      assert.deepEqual([requests[0]!.method, requests[0]!.url], ["DELETE", "/data/feature_engine_1.json"]);
      await assert.rejects(client.deleteBlob("feature_engine_1.json"), /blob_in_use/);
    },
  ));
