/** What the service reports to others: signed webhooks, traces into the job, metrics, logs. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { Api } from "./api.testing.ts";
import { eventually } from "./eventually.testing.ts";
import { payload, putInputs, RIDGE } from "./inputs.testing.ts";
import { endServices, type Serving, serviceFolder, silentEngine, startServe } from "./service.testing.ts";

const SECRET = `whsec_${Buffer.from("a secret of 24 bytes or so").toString("base64")}`;

/** The id of the caller's span. */
const CALLERS_SPAN = "00f067aa0ba902b7";

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
}

describe("the service informs", { timeout: 600_000 }, () => {
  const received: Received[] = [];
  let [receiver, serving, api]: [Server?, Serving?, Api?] = [];
  let origin: string;

  before(async () => {
    // Answers the first delivery of each webhook with 500, so that it is retried.
    const refused = new Set<unknown>();
    receiver = createServer(async (request, answer) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      received.push({ path: request.url!, headers: request.headers, body });
      const webhook = request.headers["webhook-id"];
      const again = webhook === undefined || refused.has(webhook);
      refused.add(webhook);
      answer.writeHead(again ? 200 : 500, { "content-type": "application/json" }).end("{}");
    }).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    origin = `http://127.0.0.1:${(receiver.address() as { port: number }).port}`;
    const folder = await serviceFolder();
    const settings = join(folder, "settings.json");
    const webhooks = [
      { name: "optimizer", url: `${origin}/hook`, secret: SECRET, types: ["succeeded", "failed"] },
    ];
    await writeFile(settings, JSON.stringify({ webhooks }), { mode: 0o600 });
    serving = await startServe({
      folder,
      env: {
        MUCAST_SETTINGS: settings,
        MUCAST_PRIVATE_ORIGINS: origin,
        OTEL_EXPORTER_OTLP_ENDPOINT: origin,
        OTEL_BSP_SCHEDULE_DELAY: "50",
      },
    });
    api = new Api(serving.url);
    await putInputs(api, "small");
  });
  after(async () => {
    await endServices();
    receiver?.closeAllConnections();
    receiver?.close();
  });

  test("webhook targets of the end of operations, with signed CloudEvents, and retries if they fail", async () => {
    const done = await api!.submit(payload(serving!.url, "small"), { prefer: "wait=60" });
    const deliveries = await eventually("two deliveries", () => {
      const found = received.filter(({ path, body }) => path === "/hook" && body.includes(done.id));
      return found.length >= 2 ? found : undefined;
    });
    assert.equal(deliveries[0]!.headers["webhook-id"], deliveries[1]!.headers["webhook-id"]);
    for (const { headers, body } of deliveries) {
      const event = new Webhook(SECRET).verify(body, headers as Record<string, string>) as Record<
        string,
        unknown
      >;
      assert.deepEqual([event.specversion, event.data], ["1.0", done]);
      assert.match(String(event.type), /succeeded$/);
      assert.ok(typeof event.id === "string" && typeof event.source === "string");
      assert.match(String(headers["content-type"]), /^application\/cloudevents\+json/);
      assert.throws(() => new Webhook(SECRET).verify(`${body} `, headers as Record<string, string>));
    }
  });

  test("a tracer of the path of a request into the job and its steps", async () => {
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const traceparent = `00-${traceId}-${CALLERS_SPAN}-01`;
    await api!.submit(payload(serving!.url, "small"), { prefer: "wait=60", traceparent });
    // The span of the request ends last, and arrives in a different batch from the spans of the job.
    const spans = await eventually(
      "the spans of a job, and of the request that the caller's span is above",
      () => {
        const found = received
          .filter(({ path }) => path === "/v1/traces")
          .flatMap(({ body }) => spansOf(body))
          .filter((span) => span.traceId === traceId);
        const isWhole =
          found.some(({ name }) => /fit/.test(name)) &&
          found.some(({ parentSpanId }) => parentSpanId === CALLERS_SPAN);
        return isWhole ? found : undefined;
      },
    );
    const ids = new Set(spans.map(({ spanId }) => spanId));
    const roots = spans.filter(({ parentSpanId }) => !ids.has(parentSpanId!));
    assert.deepEqual(
      roots.map(({ parentSpanId }) => parentSpanId),
      roots.map(() => CALLERS_SPAN),
      JSON.stringify(spans),
    );
    for (const step of ["read", "fit", "write"]) {
      assert.ok(
        spans.some(({ name }) => name.includes(step)),
        `${step}: ${spans.map(({ name }) => name)}`,
      );
    }
  });

  test("Prometheus of ended operations by state, failures by code, and the queue length", async () => {
    await api!.submit(payload(serving!.url, "nowhere"), { prefer: "wait=60" });
    const { text, headers } = await api!.ask("GET", "/metrics");
    assert.match(headers.get("content-type")!, /^text\/plain/);
    const value = (labels: RegExp) =>
      text
        .split("\n")
        .filter((line) => !line.startsWith("#") && labels.test(line) && line.startsWith("mucast_"))
        .map((line) => Number(line.split(" ").at(-1)));
    assert.ok(value(/"blob_not_found"/).includes(1), text);
    assert.ok(value(/"Succeeded"|"succeeded"/).includes(2), text);
    assert.ok(value(/queue|waiting|NotStarted/i).includes(0), text);
    assert.match(text, /^mucast_\w*(duration|seconds)\w*_bucket\{/m);
  });

  test("no one if the disk is full for its log, and continues", async () => {
    const through = ["sh", "-c", 'exec "$@" >/dev/full 2>/dev/full', "sh"];
    const folder = await serviceFolder();
    const silent = await startServe({ folder, through, env: await silentEngine(folder) });
    const client = new Api(silent.url);
    await putInputs(client, "small");
    assert.deepEqual((await client.list()).operations, []);
    assert.deepEqual(await silent.terminate(), { code: 0, signal: null });
  });

  test("operators by JSON lines with the operation's id", async () => {
    const { id } = await api!.submit(payload(serving!.url, "small", RIDGE), { prefer: "wait=60" });
    const lines = serving!
      .logs()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
    const about = lines.filter(({ operation_id }) => operation_id === id);
    assert.ok(about.length >= 2, serving!.logs());
    assert.ok(about.every(({ time, level, msg }) => time && level && msg));
  });
});

function spansOf(body: string): Span[] {
  const { resourceSpans } = JSON.parse(body) as {
    resourceSpans: { scopeSpans: { spans: Span[] }[] }[];
  };
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}
