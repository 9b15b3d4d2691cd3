import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage, RequestListener } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import type { Authenticate } from "../../auth/authenticate.ts";
import { openLog } from "../../telemetry/log.ts";
import { ask, eventually, listenFor } from "../listening.testing.ts";
import { ML_PAYLOAD } from "../openapi/examples.ts";
import { HttpServer } from "./http-server.ts";
import type { StallLimits } from "./stalled-answers.ts";

test("a service closes although clients keep connections open, and answers the requests in progress", async (t) => {
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

test("a request that arrives before the previous answer waits for it, and starts in a later turn", async (t) => {
  const log: string[] = [];
  const { port } = await listening(t, async (request, response) => {
    log.push(`begin ${request.method} ${request.url}`);
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
    log.push(`end ${request.url}`);
    response.once("close", () => log.push(`closed ${request.url}`));
    response.end(request.url);
    process.nextTick(() => setImmediate(() => log.push(`turn after ${request.url}`)));
  });
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  t.after(() => socket.destroy());
  let answers = "";
  socket.on("data", (piece: string) => {
    answers += piece;
  });
  socket.write(requestOf("/1", "DELETE") + requestOf("/2"));
  await eventually(() => answers.endsWith("/2"));
  const first = ["begin DELETE /1", "end /1", "closed /1", "turn after /1"];
  assert.deepEqual(log.slice(0, 5), [...first, "begin GET /2"]);
});

test("a client that pipelines more requests gets one answer, and Node parses none of the others", async (t) => {
  const handled: string[] = [];
  const answer = Promise.withResolvers<void>();
  const { port, seen } = await listening(t, async ({ url = "" }, response) => {
    handled.push(url);
    await answer.promise;
    response.end(url);
  });
  const sockets = Array.from({ length: 8 }, () => connect(port, "127.0.0.1").setEncoding("utf8"));
  const answers = sockets.map(() => "");
  for (const [i, socket] of sockets.entries()) {
    t.after(() => socket.destroy());
    socket.on("data", (piece: string) => {
      answers[i] += piece;
    });
    socket.write(requestOf("/first") + requestOf("/more").repeat(1_000));
  }
  await eventually(() => handled.length === 8 && seen() === 16);
  for (const socket of sockets) socket.write(requestOf("/later"));
  const closed = Promise.all(sockets.map((socket) => once(socket, "close")));
  answer.resolve();
  await closed;
  for (const text of answers)
    assert.match(text, /^HTTP\/1.1 200 OK\r\n[\s\S]*Connection: close\r\n[\s\S]*\/first$/);
  assert.deepEqual([seen(), new Set(handled)], [16, new Set(["/first"])]);
});

test("the last request of a connection is answered although other bytes follow", async (t) => {
  const { port } = await listenFor(t);
  for (const [version, header] of [
    ["1.1", "Connection: close\r\n"],
    ["1.0", ""],
  ]) {
    const socket = connect(port, "127.0.0.1").setEncoding("utf8");
    socket.write(`GET /healthz HTTP/${version}\r\nHost: 127.0.0.1:${port}\r\n${header}\r\nmore\r\n`);
    const [said] = await once(socket, "data");
    assert.match(said, /^HTTP\/1.1 200 /);
    await once(socket, "close");
  }
});

test("connections whose answers are not read are eventually closed, which makes room for others", async (t) => {
  const { port, open } = await listening(
    t,
    ({ url }, response) => void response.end(url === "/small" ? "" : LONG),
    {
      stallMilliseconds: 600,
    },
  );
  const unread = Array.from({ length: 10 }, () => connect(port, "127.0.0.1").on("error", () => undefined));
  for (const socket of unread) {
    t.after(() => socket.destroy());
    socket.write(requestOf("/long"));
    await once(socket, "readable");
  }
  await eventually(async () => (await open()) === 0);
  assert.equal((await ask(port, { path: "/small" })).status, 200);
});

test("little is buffered of a body in tiny chunks that the service does not read", async (t) => {
  const bodies: IncomingMessage[] = [];
  const { port } = await listening(t, (request, response) => {
    if (request.method === "GET") response.end();
    else bodies.push(request);
  });
  openQuietly(t, port).write(
    `POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${"8\r\nxxxxxxxx\r\n".repeat(20_000)}`,
  );
  await eventually(() => (bodies[0]?.readableLength ?? 0) >= 8_192);
  // Meanwhile the server could read on.
  for (let i = 0; i < 20; i++) await (await fetch(`http://127.0.0.1:${port}/`)).text();
  // One read of the socket.
  assert.ok(bodies[0]!.readableLength < 65_536, `${bodies[0]!.readableLength} bytes are kept`);
});

test("a request may wait behind a body in one chunk, and both are answered", async (t) => {
  const { port } = await listening(t, (request, response) => {
    // A route reads the body once it knows the caller.
    setImmediate(() => request.resume().once("end", () => response.end(request.url)));
  });
  const socket = openQuietly(t, port).setEncoding("utf8");
  let said = "";
  socket.on("data", (text: string) => {
    said += text;
  });
  for (const size of [1_800, 8_192, 60_000]) {
    said = "";
    const body = `${size.toString(16)}\r\n${"x".repeat(size)}\r\n0\r\n\r\n`;
    const put = `PUT /first HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${body}`;
    socket.write(`${put}GET /second HTTP/1.1\r\nHost: a\r\n\r\n`);
    await eventually(() => socket.closed || said.includes("/second"));
    assert.match(said, /\/first.*\/second/s);
  }
});

test("a client sends a body in chunks after it has read a whole download", async (t) => {
  const service = await listenFor(t);
  const socket = connect(service.port, "127.0.0.1").setEncoding("utf8");
  t.after(() => socket.destroy());
  let said = "";
  socket.on("data", (text: string) => {
    said += text;
  });
  const host = `Host: 127.0.0.1:${service.port}`;
  for (let turn = 1; turn <= 20; turn++) {
    socket.write(`GET /openapi.json HTTP/1.1\r\n${host}\r\n\r\n`);
    await eventually(() => said.includes("\r\n\r\n") && completeAnswer(said) !== undefined);
    said = "";
    const body = "2\r\n{}\r\n0\r\n\r\n";
    socket.write(
      `POST /v1/run_ml_job HTTP/1.1\r\n${host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body}`,
    );
    await eventually(() => completeAnswer(said) !== undefined);
    assert.match(said, /^HTTP\/1\.1 400 /);
    said = "";
  }
});

/** More than the buffers of a connection hold. */
const LONG = "x".repeat(2 ** 25);

function requestOf(path: string, method = "GET"): string {
  return `${method} ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
}

/** The body of an answer with a length; undefined until it is complete. */
function completeAnswer(said: string): string | undefined {
  const end = said.indexOf("\r\n\r\n");
  const length = Number(/content-length: (\d+)/i.exec(said.slice(0, Math.max(0, end)))?.[1]);
  const body = said.slice(end + 4);
  return Buffer.byteLength(body) >= length ? body : undefined;
}

interface Listening {
  readonly port: number;
  /** How many requests the server has read. */
  readonly seen: () => number;
  /** How many connections are open. */
  readonly open: () => Promise<number>;
}

async function listening(
  t: TestContext,
  handler: RequestListener,
  limits: StallLimits = {},
): Promise<Listening> {
  let seen = 0;
  const http = new HttpServer(handler, {
    ...limits,
    connections: 10,
    log: openLog({ level: "error", destination: { write: () => undefined } }),
    onOverLimit: () => undefined,
  });
  t.after(async () => {
    http.close();
    http.server.closeAllConnections();
    http.server.close();
    await once(http.server, "close");
  });
  http.server.on("request", () => {
    seen += 1;
  });
  http.server.listen(0, "127.0.0.1");
  await once(http.server, "listening");
  const open = () => new Promise<number>((resolve) => http.server.getConnections((_, n) => resolve(n)));
  return { port: (http.server.address() as AddressInfo).port, seen: () => seen, open };
}

/** A connection that reads no answer, and may be reset. */
function openQuietly(t: TestContext, port: number): Socket {
  const socket = connect(port, "127.0.0.1");
  t.after(() => socket.destroy());
  return socket.on("error", () => undefined).resume();
}

/** Opens connections without a request. The list keeps those that the server closes. */
async function openIdle(t: TestContext, port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    t.after(() => socket.destroy());
    await once(socket, "connect");
    sockets.push(socket);
  }
  return sockets;
}

/** The status of an answer on a connection that is open. */
async function statusOn(socket: Socket, path: string): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${socket.remotePort}\r\n\r\n`);
  const [answer] = await once(socket, "data");
  return String(answer).split(" ")[1]!;
}

test("a body in thousands of chunks of one byte is refused, and one of as many with ten bytes is not", async (t) => {
  const { port } = await listenFor(t);
  const head = `POST /v1/run_ml_job HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const answerTo = async (chunk: string) => {
    const socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    socket.write(`${head}${`${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(6_000)}0\r\n\r\n`);
    const [answer] = await once(socket, "data");
    return String(answer);
  };
  assert.match(await answerTo(" "), /^HTTP\/1.1 400 [\s\S]*Content-Length: 0\r\n\r\n$/);
  assert.match(await answerTo(" ".repeat(10)), /^HTTP\/1.1 400 [\s\S]*application\/problem\+json/);
});

test("at the limit, the longest idle connection makes room for the next one", async (t) => {
  const { port } = await listenFor(t, { connections: 16 });
  const idle = await openIdle(t, port, 15);
  for (const socket of idle) assert.equal(await statusOn(socket, "/healthz"), "200");
  assert.equal(await statusOn(idle[0]!, "/healthz"), "200");
  const closed = once(idle[1]!, "close");
  assert.equal((await ask(port, { path: "/v1/operations" })).status, 200);
  await closed;
  assert.equal(await statusOn(idle[0]!, "/healthz"), "200");
});

/** A whole request, and the head of one with a body of two bytes. */
function unfinishedRequest(port: number, credentials: string): string {
  const host = `Host: 127.0.0.1:${port}\r\nAuthorization: ${credentials}\r\n`;
  const whole = `GET /healthz HTTP/1.1\r\n${host}\r\n`;
  return `${whole}POST /v1/run_ml_job HTTP/1.1\r\n${host}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n`;
}

test("connections beyond the limit are closed, and those within it still work", async (t) => {
  const authenticate: Authenticate = async (credentials = "none") => ({
    subject: credentials,
    scopes: new Set(["read", "write"]),
  });
  const service = await listenFor(t, { connections: 16 }, { authenticate });
  const { port } = service;
  const within = await openIdle(t, port, 1);
  for (let i = 0; i < 16; i++) {
    const socket = within[i]!;
    // Once the first is answered, the server has seen both. One caller may use half of the connections.
    socket.write(`${unfinishedRequest(port, `caller-${i}`)}{`);
    await once(socket, "data");
    if (i < 15) within.push(...(await openIdle(t, port, 1)));
  }
  for (const path of ["/v1/operations", "/healthz"])
    await assert.rejects(ask(port, { path }), /ECONNRESET|hang up/);
  for (const socket of within) {
    socket.write("}");
    const [answer] = await once(socket, "data");
    assert.match(String(answer), /^HTTP\/1.1 400 /);
  }
  await eventually(() =>
    ask(port, { path: "/v1/operations" }).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  const warnings = service.logged.filter((line) => line.includes("the limit of open connections is reached"));
  assert.equal(warnings.length, 1);
});
