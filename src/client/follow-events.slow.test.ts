import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { MucastError } from "../contract/errors/errors.ts";
import { problemOf } from "../contract/problems/problem.ts";
import { MucastClient } from "./client.ts";
import {
  type Answer,
  broken,
  FakeService,
  json,
  operation,
  refusal,
  SUCCEEDED,
  sent,
  stream,
} from "./fake-service.testing.ts";

const PAYLOAD = { feature_url: "f", data_extractor_url: "d", config: {} };
const QUEUED = sent(1, "queued", { operation: "run_ml_job" });
const STARTED = sent(2, "started", { attempt: 1 });
const ENDED = sent(3, "succeeded", SUCCEEDED);

async function against(
  answers: readonly Answer[],
  use: (client: MucastClient, service: FakeService) => Promise<void>,
): Promise<void> {
  await using service = new FakeService(...answers);
  await use(new MucastClient({ baseUrl: await service.listen() }), service);
}

async function typesOf(client: MucastClient, lastEventId?: number): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of client.events("one", { lastEventId })) types.push(type);
  return types;
}

test("events arrive in order and end with the final one", () =>
  against([stream("retry: 1", ": a comment", QUEUED, STARTED, ENDED)], async (client, { requests }) => {
    assert.deepEqual(await typesOf(client), ["queued", "started", "succeeded"]);
    assert.equal(requests.length, 1);
    assert.equal(requests[0]!.headers.accept, "text/event-stream");
  }));

test("a proxy may end lines with CRLF", () => {
  const lines = ["retry: 1", QUEUED, ENDED].map((text) => text.replaceAll("\n", "\r\n"));
  return against([stream(...lines.map((line) => `${line}\r`))], async (client) =>
    assert.deepEqual(await typesOf(client), ["queued", "succeeded"]),
  );
});

test("events and members that a later service adds are passed on", () => {
  const added = sent(2, "added_later", { any: 1 });
  const ended = sent(3, "succeeded", { ...SUCCEEDED, added_later: 1 });
  return against([stream(QUEUED, added, ended)], async (client) => {
    const events: { type: string; data: object }[] = [];
    for await (const event of client.events("one")) events.push(event);
    assert.deepEqual(
      events.map(({ type }) => type),
      ["queued", "added_later", "succeeded"],
    );
    assert.deepEqual(events.at(-1)!.data, { ...SUCCEEDED, added_later: 1 });
  });
});

test("a stream that breaks off resumes after the last event", () =>
  against(
    [stream("retry: 1", QUEUED), broken, stream("retry: 1", STARTED, "id: 3\ndata: {cut"), stream(ENDED)],
    async (client, { requests }) => {
      assert.deepEqual(await typesOf(client), ["queued", "started", "succeeded"]);
      assert.deepEqual(
        requests.map(({ headers }) => headers["last-event-id"]),
        [undefined, "1", "1", "2"],
      );
    },
  ));

test("a snapshot replaces events that are gone, and the kept ones follow up to the final one", () =>
  against(
    [
      stream("retry: 1", sent(7, "snapshot", SUCCEEDED)),
      stream("retry: 1", sent(8, "epochs", { points: [] }), sent(9, "succeeded", SUCCEEDED)),
    ],
    async (client, { requests }) => {
      assert.deepEqual(await typesOf(client, 3), ["snapshot", "epochs", "succeeded"]);
      assert.deepEqual(
        requests.map(({ headers }) => headers["last-event-id"]),
        ["3", "7"],
      );
    },
  ));

test("there is nothing after the final event", () =>
  against([(_request, response) => void response.writeHead(204).end()], async (client, { requests }) => {
    assert.deepEqual(await typesOf(client, 3), []);
    assert.equal(requests.length, 1);
  }));

test("a missing operation is an error at once", () =>
  against([refusal("not_found")], async (client, { requests }) => {
    await assert.rejects(typesOf(client), /not_found/);
    assert.equal(requests.length, 1);
  }));

test("runAndWait gives the operation and its events, and submits with its own key", () =>
  against([json(202, operation()), stream(QUEUED, STARTED, ENDED)], async (client, { requests }) => {
    const types: string[] = [];
    const ended = await client.runAndWait("run_ml_job", PAYLOAD, { onEvent: ({ type }) => types.push(type) });
    assert.deepEqual(ended, SUCCEEDED);
    assert.deepEqual(types, ["queued", "started", "succeeded"]);
    assert.match(String(requests[0]!.headers["idempotency-key"]), /^[0-9a-f]{32}$/);
  }));

test("runAndWait throws the problem of an operation that failed", () => {
  const error = problemOf(new MucastError("all_failed", "none of 3 tickers could be fitted"));
  const failed = sent(2, "failed", operation({ status: "Failed", error }));
  return against([json(202, operation()), stream(failed)], (client) =>
    assert.rejects(client.runAndWait("run_dl_job", PAYLOAD), {
      message: "all_failed: none of 3 tickers could be fitted",
      operation: operation({ status: "Failed", error }),
    }),
  );
});

test("runAndWait leaves no stream open", async () => {
  let left = 0;
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(`${ENDED}\n`)),
    cancel: () => {
      left += 1;
    },
  });
  const client = new MucastClient({
    baseUrl: "http://fake",
    fetch: async (_url, init) =>
      init!.method === "POST" ? Response.json(operation(), { status: 202 }) : streaming(body),
  });
  await client.runAndWait("run_ml_job", PAYLOAD);
  assert.equal(left, 1);
});

test("a reader may take any time to handle an event", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const body = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(`${QUEUED}\n`));
      controller.enqueue(new TextEncoder().encode(`${ENDED}\n`));
    },
  });
  let opened = 0;
  const client = new MucastClient({
    baseUrl: "http://fake",
    fetch: async (_url, init) => {
      opened += 1;
      init!.signal!.addEventListener("abort", () => assert.fail("the stream was aborted"));
      return streaming(body);
    },
  });
  const types: string[] = [];
  for await (const { type } of client.events("one")) {
    types.push(type);
    context.mock.timers.tick(60_000);
  }
  assert.deepEqual([types, opened], [["queued", "succeeded"], 1]);
});

test("a stream that goes silent is reopened, and one that never sends a byte is an error", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let opened = 0;
  const client = new MucastClient({
    baseUrl: "http://fake",
    fetch: async (_url, init) => mute(init!.signal!, opened++ === 0 ? `${QUEUED}\n` : undefined),
  });
  const events = client.events("one");
  assert.equal((await events.next()).value?.type, "queued");
  const next = assert.rejects(events.next(), /nothing was heard for 45 s/);
  await tickUntil(context, next);
  assert.equal(opened, 2);
});

const NO_STREAMS: Readonly<Record<string, { type?: string; text: string }>> = {
  "is a web page": { type: "text/html", text: "<p>hello" },
  "is empty": { text: "" },
  "asks for a pause of years": { text: "retry: 99999999999\n\n" },
  "holds no JSON": { text: "data: garbage\n\n" },
  "holds no event": { text: "id: 4\ndata: null\n\n" },
  "holds an event without end": { text: "data: ".repeat(2 ** 18) },
};

for (const [which, { type = "text/event-stream", text }] of Object.entries(NO_STREAMS)) {
  test(`an answer instead of events that ${which} is an error, and runAndWait polls`, async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    let opened = 0;
    const client = new MucastClient({
      baseUrl: "http://fake",
      fetch: async (url, init) => {
        if (init!.method === "POST") return Response.json(operation(), { status: 202 });
        if (!String(url).endsWith("/events")) return Response.json(SUCCEEDED);
        opened += 1;
        return new Response(text, { headers: { "content-type": type } });
      },
    });
    const told = assert.rejects(client.events("one").next(), TypeError);
    await tickUntil(context, told);
    await told;
    assert.equal(opened, text.startsWith("retry") || text === "" ? 12 : 1);
    const ended = client.runAndWait("run_ml_job", PAYLOAD);
    await tickUntil(context, ended);
    assert.deepEqual(await ended, SUCCEEDED);
  });
}

test("a stream that is quiet and cut off every 20 s is followed for as long as it takes", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let opened = 0;
  context.mock.method(performance, "now", () => opened * 20_000);
  const client = new MucastClient({
    baseUrl: "http://fake",
    fetch: async () => {
      const text = opened < 20 ? ": still here\n\n" : `${ENDED}\n`;
      // The connection is opened, and the clock runs while it lasts.
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
        pull: (controller) => {
          opened += 1;
          controller.close();
        },
      });
      return streaming(body);
    },
  });
  const types = typesOf(client);
  await tickUntil(context, types);
  assert.deepEqual(await types, ["succeeded"]);
});

/** A fake answer that sends only `text` and stays open. */
function mute(signal: AbortSignal, text?: string): Response {
  const body = new ReadableStream({
    start(controller) {
      if (text !== undefined) controller.enqueue(new TextEncoder().encode(text));
      signal.addEventListener("abort", () => controller.error(signal.reason));
    },
  });
  return streaming(body);
}

function streaming(body: ReadableStream): Response {
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** Advances the mocked clock by seconds until a promise settles. */
async function tickUntil(context: TestContext, settled: Promise<unknown>): Promise<void> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  settled.then(settle, settle);
  while (!isSettled) {
    context.mock.timers.tick(1_000);
    await new Promise(setImmediate);
  }
}

test("a timeout or an abort ends the wait and cancels nothing", () => {
  const silent: Answer = (request, response) => {
    if (request.method === "POST") json(202, operation())(request, response);
    else response.writeHead(200, { "content-type": "text/event-stream" }).write(`${QUEUED}\n`);
  };
  return against([silent], async (client, { requests }) => {
    await assert.rejects(client.runAndWait("run_ml_job", PAYLOAD, { timeout: 200 }), {
      name: "TimeoutError",
    });
    const controller = new AbortController();
    const onEvent = () => controller.abort(new Error("enough"));
    await assert.rejects(
      client.runAndWait("run_ml_job", PAYLOAD, { signal: controller.signal, onEvent }),
      /enough/,
    );
    assert.ok(requests.every(({ url }) => !url.endsWith("/cancel")));
  });
});
