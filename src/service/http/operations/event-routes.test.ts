import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { EVENTS } from "../openapi/examples.ts";
import { pumpEvents, type SentEvent } from "./event-routes.ts";

async function* of(events: readonly SentEvent[]): AsyncGenerator<SentEvent> {
  yield* events;
}

function never(signal: AbortSignal): AsyncGenerator<SentEvent> {
  return (async function* () {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  })();
}

test("a stream has the retry time, then each event on its own lines, and ends", async () => {
  const stream = new PassThrough();
  const pumped = pumpEvents(EVENTS.slice(0, 1), of(EVENTS.slice(1)), stream, new AbortController().signal);
  const blocks = (await stream.setEncoding("utf8").toArray()).join("").split("\n\n");
  await pumped;
  assert.equal(blocks.shift(), "retry: 2000");
  assert.equal(blocks.pop(), "");
  assert.deepEqual(
    blocks,
    EVENTS.map((event) => `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}`),
  );
});

test("a stream without events has a comment at each heartbeat", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const controller = new AbortController();
  const stream = new PassThrough().setEncoding("utf8");
  const pumped = pumpEvents([], never(controller.signal), stream, controller.signal);
  t.mock.timers.tick(30_000);
  let text = "";
  for await (const piece of stream) {
    text += piece;
    if (text.includes(":\n\n:\n\n")) controller.abort();
  }
  await pumped;
  assert.match(text, /^retry: 2000\n\n(:\n\n){2,}$/);
});

test("the pump reads events no faster than a slow reader, and ends when the reader disconnects", async () => {
  const controller = new AbortController();
  let taken = 0;
  const large: SentEvent = {
    ...EVENTS[0]!,
    type: "warning",
    data: { code: "no_prices", message: "x".repeat(10_000) },
  };
  async function* endless(): AsyncGenerator<SentEvent> {
    for (;;) {
      taken += 1;
      yield large;
    }
  }
  const stream = new PassThrough();
  const pumped = pumpEvents([], endless(), stream, controller.signal);
  for (let turn = 0; turn < 500; turn++) await new Promise(setImmediate);
  assert.ok(taken < 50, `${taken} events were taken`);
  controller.abort();
  await pumped;
});
