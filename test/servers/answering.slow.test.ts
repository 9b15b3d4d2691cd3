import assert from "node:assert/strict";
import { once } from "node:events";
import { request as ask, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { answering } from "./answering.testing.ts";

test("a request in progress when its server closes ends without an error", {
  timeout: 600_000,
}, async () => {
  const arrived = Promise.withResolvers<void>();
  const over = Promise.withResolvers<unknown>();
  const server = createServer(
    answering(async (request) => {
      arrived.resolve();
      await text(request).catch((error) => {
        over.resolve(error);
        throw error;
      });
    }),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sent = ask({ port, host: "127.0.0.1", method: "POST" });
  const cut = once(sent, "error");
  sent.write("half of");
  await arrived.promise;
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  assert.match(String(await over.promise), /aborted/);
  await closed;
  await cut;
});
