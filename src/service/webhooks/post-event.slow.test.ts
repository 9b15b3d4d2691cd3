import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { postEvent } from "./post-event.ts";
import { SECRET } from "./receiver.testing.ts";

const certificates = new URL("../../../test/certificates/", import.meta.url);
const certificate = new URL("localhost.cert.pem", certificates);
const bodies: unknown[] = [];
const server = createServer(
  { cert: readFileSync(certificate), key: readFileSync(new URL("localhost.key.pem", certificates)) },
  async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    bodies.push(new Webhook(SECRET).verify(body, request.headers as Record<string, string>));
    response.writeHead(204).end();
  },
);
let url: string;

before(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `https://localhost:${(server.address() as AddressInfo).port}/`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

/** The outcome of an event that is posted to a receiver on plain http. */
async function outcomeAt(answer: (socket: Socket) => void) {
  const receiver = createTcpServer((socket) =>
    socket.once("data", () => answer(socket)).on("error", () => undefined),
  );
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  const { port } = receiver.address() as AddressInfo;
  try {
    const { signal } = new AbortController();
    const target = { url: `http://127.0.0.1:${port}/`, secret: SECRET, id: "a_1", body: "{}" };
    return await postEvent({ ...target, timeoutMilliseconds: 600_000, signal });
  } finally {
    receiver.close();
  }
}

test("a receiver that answers 101 has not accepted the event", async () => {
  const head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
  const outcome = await outcomeAt((socket) => socket.write(head));
  assert.deepEqual(outcome, { kind: "failed", reason: "answered with status 101" });
});

test("a receiver has accepted the event once it answers 200, whatever happens to the body", async () => {
  const begun = (socket: Socket) => {
    socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", () =>
      socket.resetAndDestroy(),
    );
  };
  assert.deepEqual(await outcomeAt(begun), { kind: "delivered" });
});

test("no event goes to a receiver with an untrusted certificate", async () => {
  const { signal } = new AbortController();
  const outcome = await postEvent({
    url,
    secret: SECRET,
    id: "a_1",
    body: "{}",
    timeoutMilliseconds: 600_000,
    signal,
  });
  assert.deepEqual(outcome, {
    kind: "failed",
    reason: "the connection failed (DEPTH_ZERO_SELF_SIGNED_CERT)",
  });
  assert.deepEqual(bodies, []);
});
