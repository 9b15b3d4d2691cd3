import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { eventually } from "../listening.testing.ts";
import { StalledAnswers, type StallLimits } from "./stalled-answers.ts";

/** More than the buffers of a connection hold. */
const ANSWER = Buffer.alloc(2 ** 25, "x");

interface Pair {
  readonly client: Socket;
  /** The side of the server, which sends an answer. */
  readonly server: Socket;
}

/** Answers on some connections whose clients read nothing, and a stopped clock. */
async function unreadAnswers(
  t: TestContext,
  count: number,
  limits: StallLimits = {},
  addressOf: (i: number) => string = () => "127.0.0.1",
) {
  const clock = { now: 0 };
  t.mock.method(performance, "now", () => clock.now);
  const stalled = new StalledAnswers(limits);
  t.after(() => stalled.stop());
  const listening = createServer().listen(0, "127.0.0.1");
  t.after(() => listening.close());
  await once(listening, "listening");
  const pairs: Pair[] = [];
  for (let i = 0; i < count; i++) {
    const { port } = listening.address() as AddressInfo;
    const client = connect({ port, host: "127.0.0.1", localAddress: addressOf(i) });
    const [server] = (await once(listening, "connection")) as [Socket];
    for (const socket of [client, server]) {
      socket.on("error", () => undefined);
      t.after(() => socket.destroy());
    }
    stalled.add(server);
    server.write(ANSWER);
    stalled.wrote(server);
    pairs.push({ client, server });
    clock.now += 1;
  }
  return { stalled, pairs, clock };
}

/** The numbers of the connections that are open. */
function open(pairs: readonly Pair[]): number[] {
  return [...pairs.keys()].filter((i) => !pairs[i]!.server.destroyed);
}

test("a reader must read 64 KiB of a large write in five minutes", async (t) => {
  const { stalled, pairs, clock } = await unreadAnswers(t, 2);
  clock.now = 10_000;
  stalled.look();
  const { client } = pairs[1]!;
  // The buffers of the connection have room for more only once much is read.
  client.resume();
  await eventually(() => client.bytesRead > ANSWER.length / 2);
  client.pause();
  clock.now = 299_000;
  stalled.look();
  assert.deepEqual(open(pairs), [0, 1]);
  clock.now = 302_000;
  stalled.look();
  assert.deepEqual(open(pairs), [1]);
  clock.now = 598_000;
  stalled.look();
  client.resume();
  await eventually(() => client.bytesRead === ANSWER.length);
  await eventually(() => pairs[1]!.server.writableLength === 0);
  clock.now = 900_000;
  stalled.look();
  assert.deepEqual(open(pairs), [1], "nothing is left to send");
});

test("if all answers together have too many unsent bytes, those that have stalled longest are closed", async (t) => {
  const { stalled, pairs } = await unreadAnswers(t, 6, { unsentBytes: 2.5 * ANSWER.length });
  assert.deepEqual(open(pairs), [4, 5]);
  stalled.look();
  assert.deepEqual(open(pairs), [4, 5]);
});

test("too many unsent bytes close connections of the address that has most of them, not a reader that has stalled longer", async (t) => {
  const { stalled, pairs } = await unreadAnswers(t, 5, { unsentBytes: 2.5 * ANSWER.length }, (i) =>
    i === 0 ? "127.0.0.1" : "127.0.0.2",
  );
  assert.deepEqual(open(pairs), [0, 4]);
  stalled.look();
  assert.deepEqual(open(pairs), [0, 4]);
});

test("the busiest address loses connections without progress first, and no other address a slow reader", async (t) => {
  const limits = { unsentBytes: 3.5 * ANSWER.length };
  const addressOf = (i: number) => (i === 0 ? "127.0.0.1" : "127.0.0.2");
  const { stalled, pairs, clock } = await unreadAnswers(t, 3, limits, addressOf);
  clock.now = 10_000;
  const { client, server } = pairs[2]!;
  client.resume();
  await eventually(() => client.bytesRead > ANSWER.length / 2);
  client.pause();
  server.write(Buffer.alloc(1.5 * ANSWER.length));
  stalled.wrote(server);
  assert.deepEqual(open(pairs), [0, 2]);
});
