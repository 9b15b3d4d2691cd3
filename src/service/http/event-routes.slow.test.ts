import assert from "node:assert/strict";
import { request } from "node:http";
import { connect } from "node:net";
import { after, test } from "node:test";
import { snapshotSchema, storedEventSchema } from "../../contract/api/stored-event.ts";
import type { Caller } from "../auth/caller.ts";
import { ask, bearer, eventually, listen, listenFor } from "./listening.testing.ts";

const service = await listen();
after(() => service.close());

async function running({ operations, submit } = service, caller?: Caller): Promise<string> {
  const id = await submit("run_ml_job", caller);
  await operations.start(id);
  return id;
}

function follow(id: string, headers: Record<string, string> = {}, query = ""): Promise<Response> {
  return fetch(`${service.origin}/v1/operations/${id}/events${query}`, { headers });
}

/** Ids and types of the events in the text of a stream, each checked against its schema. */
function received(text: string): string[] {
  return [...text.matchAll(/^id: (\d+)\nevent: (\w+)\ndata: (.*)\n\n/gm)].map(([, id, type, data]) => {
    const schema = type === "snapshot" ? snapshotSchema : storedEventSchema;
    const event = schema.parse(JSON.parse(data!));
    assert.deepEqual([event.seq, event.type], [Number(id), type]);
    return `${id} ${type}`;
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
  assert.deepEqual(received(text), ["1 queued", "2 started", "3 progress", "4 succeeded"]);
  assert.ok(text.startsWith("retry: 2000\n\n"));
});

test("a stream resumes after Last-Event-ID, from header or query", async () => {
  const id = await running();
  service.operations.end(id);
  const all = ["1 queued", "2 started", "3 succeeded"];
  for (const [header, query, after] of [
    ["", "", 0],
    ["2", "", 2],
    ["", "?last_event_id=1", 1],
    // A browser's own header is the newer one.
    ["2", "?last_event_id=1", 2],
  ] as const) {
    const stream = await follow(id, { "last-event-id": header }, query);
    assert.deepEqual(received(await stream.text()), all.slice(after));
  }
  const seen = await follow(id, { "last-event-id": "3" });
  assert.deepEqual([seen.status, await seen.text()], [204, ""]);
});

test("a reader that disconnects leaves no listener behind", async () => {
  const id = await running();
  const before = service.operations.listeners;
  const opened = Array.from({ length: 20 }, () => {
    const sent = request(`${service.origin}/v1/operations/${id}/events`, { agent: false });
    return sent.on("error", () => undefined).end();
  });
  await eventually(() => service.operations.listeners >= before + 20);
  for (const sent of opened) sent.destroy();
  await eventually(() => service.operations.listeners <= before);
});

test("a service that closes ends its streams", async (t) => {
  const ending = await listenFor(t);
  const answer = await fetch(`${ending.origin}/v1/operations/${await running(ending)}/events`);
  const [text] = await Promise.all([answer.text(), ending.close()]);
  assert.deepEqual(received(text), ["1 queued", "2 started"]);
});

test("a stream ends once its API key is revoked, while another key's continues", {
  timeout: 600_000,
}, async (t) => {
  const keyed = await listenFor(t, { auth: "keys" }, { beatMilliseconds: 5 });
  const followed = async (name: string) => {
    const { key, token } = await keyed.keys.create(name, ["read", "write"]);
    const id = await running(keyed, { subject: key.subject, scopes: new Set(key.scopes) });
    const headers = { authorization: `Bearer ${token}` };
    const stream = await fetch(`${keyed.origin}/v1/operations/${id}/events`, { headers });
    return { key, id, text: stream.text() };
  };
  const [revoked, kept] = [await followed("revoked"), await followed("kept")];
  await keyed.keys.revoke(revoked.key.id);
  assert.deepEqual(received(await revoked.text), ["1 queued", "2 started"]);
  keyed.operations.end(kept.id);
  assert.equal(received(await kept.text).at(-1), "3 succeeded");
});

test("the stream of a revoked key ends, even if its reader takes nothing", async (t) => {
  const keyed = await listenFor(t, { auth: "keys" }, { beatMilliseconds: 5 });
  const { operations, port } = keyed;
  const { key, token } = await keyed.keys.create("slow", ["read", "write"]);
  const id = await running(keyed, { subject: key.subject, scopes: new Set(key.scopes) });
  const point = { ticker: "x".repeat(128), train_loss: 1, validation_loss: null };
  const points = Array.from({ length: 800 }, (_, epoch) => ({ ...point, epoch }));
  // More than the buffers of a connection hold.
  for (let n = 0; n < 150; n++) await operations.tell(id, { type: "epochs", data: { points } });
  let taken = 0;
  const { follow: followAll } = operations;
  t.mock.method(operations, "follow", async function* (...asked: Parameters<typeof followAll>) {
    for await (const event of followAll.apply(operations, asked)) {
      taken += 1;
      yield event;
    }
  });
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  t.after(() => socket.destroy());
  socket.write(`GET /v1/operations/${id}/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`);
  socket.write(`Authorization: ${bearer(token).authorization}\r\n\r\n`);
  // Until none is taken while the service answers another request.
  for (let before = -1; taken === 0 || taken > before; ) {
    before = taken;
    await ask(port, { path: "/healthz" });
  }
  assert.ok(operations.listeners === 1 && taken < 150, `${taken}`);
  await keyed.keys.revoke(key.id);
  await eventually(() => operations.listeners === 0);
});
