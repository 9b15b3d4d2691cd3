/** What one caller does at an entry point of the service, in a separate thread. */
import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { closeUnread, type UnreadAnswer, unreadAnswer } from "./unread-answer.ts";

/** A request that is repeated as fast as its answers come. */
export interface Attack {
  readonly method?: "GET" | "POST" | "PUT";
  /** `{n}` is the number of the request. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sends the body in chunks of one byte, on a connection for each request. */
  readonly inBytes?: boolean;
  /** The number of parallel requests. */
  readonly atOnce: number;
  /** `read` by default; `close`: the connection is closed after the request; `leave`: stays open, unread. */
  readonly answers?: "read" | "close" | "leave";
  /** Bytes of all requests together; unlimited by default. */
  readonly bytesPerMinute?: number;
}

export interface AttackOrder {
  readonly port: number;
  readonly token: string;
  readonly attack: Attack;
}

/** The result. */
export interface AttackCounts {
  readonly sent: number;
  readonly refused: number;
  readonly bytes: number;
}

const counts = { sent: 0, refused: 0, bytes: 0 };
const { port, token, attack } = workerData as AttackOrder;
const {
  method = "GET",
  path,
  body,
  answers = "read",
  atOnce,
  bytesPerMinute = Number.POSITIVE_INFINITY,
} = attack;
const headers = { authorization: `Bearer ${token}`, ...attack.headers };
const agent = new Agent({ keepAlive: answers === "read", maxSockets: atOnce });
const left: UnreadAnswer[] = [];
/** Approximate size of the request line and headers in bytes. */
const HEAD_BYTES = 200;
const millisecondsPerRequest = ((HEAD_BYTES + (body?.length ?? 0)) / bytesPerMinute) * 60_000;
let nextRequest = performance.now();
let isOver = false;

parentPort!.once("message", async () => {
  isOver = true;
  agent.destroy();
  closeUnread(left);
  parentPort!.postMessage(counts satisfies AttackCounts);
});
for (let lane = 0; lane < atOnce; lane++) void repeat();

async function repeat(): Promise<void> {
  while (!isOver) {
    await myTurn();
    if (isOver) return;
    counts.sent += 1;
    const nth = String(counts.sent);
    if (answers === "leave") {
      const answer = await unreadAnswer(port, path.replace("{n}", nth), headers).catch(() => undefined);
      if (answer) left.push(answer);
      return;
    }
    // A connection that the service closes is part of the attack.
    const asked = path.replace("{n}", nth);
    await (attack.inBytes ? chunked(asked) : once(asked)).catch(() => undefined);
  }
}

/** Waits long enough for all lanes together to keep to `bytesPerMinute`. */
async function myTurn(): Promise<void> {
  const wait = nextRequest - performance.now();
  nextRequest = Math.max(nextRequest, performance.now()) + millisecondsPerRequest;
  if (wait > 0) await pause(wait);
}

function chunked(asked: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      const all = {
        ...headers,
        host: `127.0.0.1:${port}`,
        "transfer-encoding": "chunked",
        connection: "close",
      };
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`${method} ${asked} HTTP/1.1\r\n${lines.join("")}\r\n`);
      socket.write(`${[...body!].map((byte) => `1\r\n${byte}\r\n`).join("")}0\r\n\r\n`);
    });
    socket.once("data", (answer: Buffer) => {
      if (answer.toString("latin1", 9, 10) >= "4") counts.refused += 1;
    });
    socket.on("data", (answer: Buffer) => {
      counts.bytes += answer.length;
    });
    socket.on("error", () => undefined).on("close", () => resolve());
  });
}

function once(asked: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path: asked, method, headers, agent }, (answer) => {
      if (answer.statusCode! >= 400) counts.refused += 1;
      drain(answer, resolve, reject);
    });
    sent.on("error", reject);
    sent.end(body, () => {
      if (answers === "close") sent.destroy();
    });
  });
}

function drain(answer: IncomingMessage, resolve: () => void, reject: (error: Error) => void): void {
  answer.on("data", (piece: Buffer) => {
    counts.bytes += piece.length;
  });
  answer.on("end", resolve).on("error", reject).on("close", resolve);
}
