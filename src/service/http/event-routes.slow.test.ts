import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, test } from "node:test";
import { snapshotSchema, storedEventSchema } from "../../contract/api/stored-event.ts";
import { ML_PAYLOAD } from "./examples.ts";
import { ask, eventually, type Listening, listen, listenFor } from "./listening.testing.ts";

const CALLER = { subject: "local", scopes: new Set(["read", "write"] as const) };

let service: Listening;
before(async () => {
  service = await listen();
});
after(() => service.close());

async function running(): Promise<string> {
  const submission = { operation: "run_ml_job", payload: JSON.stringify(ML_PAYLOAD) } as const;
  const { operation } = await service.operations.submit(CALLER, submission);
  service.operations.start(operation.id);
  return operation.id;
}

function follow(id: string, headers: Record<string, string> = {}, query = ""): Promise<Response> {
  return fetch(`${service.origin}/v1/operations/${id}/events${query}`, { headers });
}

interface Received {
  readonly id: number;
  readonly type: string;
}

/** Ids and types of the events in the text of a stream, each checked against its schema. */
function received(text: string): Received[] {
  return [...text.matchAll(/^id: (\d+)\nevent: (\w+)\ndata: (.*)\n\n/gm)].map(([, id, type, data]) => {
    const schema = type === "snapshot" ? snapshotSchema : storedEventSchema;
    const event = schema.parse(JSON.parse(data!));
    assert.deepEqual([event.seq, event.type], [Number(id), type]);
    return { id: event.seq, type: event.type };
  });
}

test("a reader gets each event when it happens, and the stream ends after the final one", async () => {
  const id = await running();
  const answer = await follow(id, { accept: "text/event-stream" });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assert.equal(answer.headers.get("x-accel-buffering"), "no");
  assert.match(answer.headers.get("cache-control")!, /no-transform/);
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("event: started")) text += (await reader.read()).value;
  service.operations.tell(id, { type: "progress", data: { stage: "fit", done: 1, total: 2 } });
  while (!text.includes("event: progress")) text += (await reader.read()).value;
  service.operations.end(id);
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
  assert.deepEqual(received(text), [
    { id: 1, type: "queued" },
    { id: 2, type: "started" },
    { id: 3, type: "progress" },
    { id: 4, type: "succeeded" },
  ]);
  assert.ok(text.startsWith("retry: 2000\n\n"));
});

test("a stream resumes after Last-Event-ID, from header or query", async () => {
  const id = await running();
  service.operations.end(id);
  const all = received(await (await follow(id)).text());
  assert.deepEqual(
    all.map(({ id }) => id),
    [1, 2, 3],
  );
  assert.deepEqual(received(await (await follow(id, { "last-event-id": "2" })).text()), all.slice(2));
  assert.deepEqual(received(await (await follow(id, {}, "?last_event_id=1")).text()), all.slice(1));
  const both = await follow(id, { "last-event-id": "2" }, "?last_event_id=1");
  assert.deepEqual(received(await both.text()), all.slice(2), "a browser's own header is the newer one");
  assert.deepEqual(received(await (await follow(id, { "last-event-id": "" })).text()), all);
  const seen = await follow(id, { "last-event-id": "3" });
  assert.deepEqual([seen.status, await seen.text()], [204, ""]);
});

test("a stream starts with a snapshot if events are no longer kept", async () => {
  const id = await running();
  service.operations.prune(id);
  service.operations.end(id);
  assert.deepEqual(received(await (await follow(id)).text()), [
    { id: 1, type: "snapshot" },
    { id: 2, type: "started" },
    { id: 3, type: "succeeded" },
  ]);
});

test("a malformed Last-Event-ID and an unknown query key are refused", async () => {
  const id = await running();
  for (const wrong of ["x", "-1", "1.5", "99999999999999999999"]) {
    const answer = await follow(id, { "last-event-id": wrong });
    const problem = (await answer.json()) as { code: string; path: string };
    assert.deepEqual([answer.status, problem.code, problem.path], [400, "invalid_request", "Last-Event-ID"]);
  }
  assert.equal((await follow(id, {}, "?after=1")).status, 400);
});

test("HEAD answers the headers of GET and opens no stream", async () => {
  const id = await running();
  const before = service.operations.listeners;
  const answer = await ask(service.port, { method: "HEAD", path: `/v1/operations/${id}/events` });
  assert.deepEqual(
    [answer.status, answer.headers["content-type"]],
    [200, "text/event-stream; charset=utf-8"],
  );
  assert.equal(service.operations.listeners, before);
});

test("a reader that disconnects leaves no listener behind", async () => {
  const id = await running();
  const before = service.operations.listeners;
  const opened = [];
  for (let n = 0; n < 20; n++) {
    const sent = request(`${service.origin}/v1/operations/${id}/events`, { agent: false });
    sent.on("error", () => undefined).end();
    opened.push(sent);
  }
  await eventually(() => service.operations.listeners >= before + 20);
  for (const sent of opened) sent.destroy();
  await eventually(() => service.operations.listeners <= before);
});

test("a service that closes ends its streams", async (t) => {
  const ending = await listenFor(t);
  const submission = { operation: "run_ml_job", payload: JSON.stringify(ML_PAYLOAD) } as const;
  const { operation } = await ending.operations.submit(CALLER, submission);
  const answer = await fetch(`${ending.origin}/v1/operations/${operation.id}/events`);
  const [text] = await Promise.all([answer.text(), ending.close()]);
  assert.deepEqual(received(text), [{ id: 1, type: "queued" }]);
});

test("a stream ends once its API key is revoked, while another key's continues", {
  timeout: 600_000,
}, async (t) => {
  const keyed = await listenFor(t, { auth: "keys" }, { beatMilliseconds: 5 });
  const followed = async (name: string) => {
    const { key, token } = await keyed.keys.create(name, ["read", "write"]);
    const caller = { subject: key.subject, scopes: new Set(key.scopes) };
    const submission = { operation: "run_ml_job", payload: JSON.stringify(ML_PAYLOAD) } as const;
    const { operation } = await keyed.operations.submit(caller, submission);
    keyed.operations.start(operation.id);
    const headers = { authorization: `Bearer ${token}` };
    const stream = await fetch(`${keyed.origin}/v1/operations/${operation.id}/events`, { headers });
    return { key, id: operation.id, text: stream.text() };
  };
  const [revoked, kept] = [await followed("revoked"), await followed("kept")];
  await keyed.keys.revoke(revoked.key.id);
  assert.deepEqual(
    received(await revoked.text).map(({ type }) => type),
    ["queued", "started"],
  );
  keyed.operations.end(kept.id);
  assert.equal(received(await kept.text).at(-1)!.type, "succeeded");
});
