import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { eventually, listenFor } from "./listening.testing.ts";
import { ML_PAYLOAD } from "./operation-examples.ts";

test("a service ends although clients keep connections open, and answers what was asked", async (t) => {
  const service = await listenFor(t);
  const head = `HTTP/1.1\r\nHost: 127.0.0.1:${service.port}\r\n`;
  const [silent, kept, begun, waiting] = [0, 1, 2, 3].map(() => connect(service.port, "127.0.0.1")) as [
    ReturnType<typeof connect>,
    ReturnType<typeof connect>,
    ReturnType<typeof connect>,
    ReturnType<typeof connect>,
  ];
  for (const socket of [silent, kept, begun, waiting])
    socket.setEncoding("utf8").on("error", () => undefined);
  kept.write(`GET /healthz ${head}\r\n`);
  await once(kept, "data");
  begun.write("GET /heal");
  const body = JSON.stringify(ML_PAYLOAD);
  const type = "Content-Type: application/json\r\nPrefer: wait=60\r\n";
  waiting.write(`POST /v1/run_ml_job ${head}${type}Content-Length: ${body.length}\r\n\r\n${body}`);
  let answer = "";
  waiting.on("data", (piece: string) => {
    answer += piece;
  });
  await eventually(() => service.operations.listeners > 0);
  const closed = Promise.all([silent, kept, begun, waiting].map((socket) => once(socket.resume(), "close")));
  await service.app.close();
  await closed;
  assert.match(answer, /^HTTP\/1.1 202 /);
});
