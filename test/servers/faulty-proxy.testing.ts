/** A fake: a proxy on a free loopback port that forwards requests to a real storage, but fails as a test plans. */
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { answering } from "./answering.testing.ts";

/** The storage's answer. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** How to treat one request: `pass` forwards it; a request that is not answered stays without an answer. */
export type Fault = (
  pass: () => Promise<Answer>,
  response: ServerResponse,
  request: IncomingMessage,
) => Promise<unknown> | unknown;

export interface FaultyProxy {
  readonly origin: string;
  /** Method and step of each request, in order: `GET`; of Azure `PUT block`, `PUT blocklist`; of S3 `POST uploads`, `PUT part`, `POST upload`. */
  readonly asked: string[];
  /** The faults of the next requests of a kind, one each; further requests pass unharmed. */
  plan(kind: string, ...faults: Fault[]): void;
  stop(): void;
}

export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const asked: string[] = [];
  const plans = new Map<string, Fault[]>();
  const server = createServer(
    answering(async (request, response) => {
      const kind = kindOf(request);
      asked.push(kind);
      const fault = plans.get(kind)?.shift();
      const pass = await taken(request, target);
      if (fault !== undefined) await fault(pass, response, request);
      else sendWhole(response, await pass());
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    plan: (kind, ...faults) => plans.set(kind, [...(plans.get(kind) ?? []), ...faults]),
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function kindOf({ method, url }: IncomingMessage): string {
  const query = new URL(url!, "http://proxy").searchParams;
  const step = query.get("comp") ?? S3_STEPS.find(([name]) => query.has(name))?.[1];
  return step === undefined ? method! : `${method} ${step}`;
}

/** Names of parameters, and the steps of an upload in parts that they mean. */
const S3_STEPS = [
  ["uploads", "uploads"],
  ["partNumber", "part"],
  ["uploadId", "upload"],
] as const;

/** Reads the request to its end. @returns a function that forwards it. */
async function taken(request: IncomingMessage, target: string): Promise<() => Promise<Answer>> {
  const { method, headers, url } = request;
  const body = await wholeOf(request);
  return () =>
    new Promise<Answer>((resolve, reject) => {
      const sent = httpRequest(new URL(url!, target), { method: method!, headers, agent: false });
      sent.on("error", reject);
      sent.on("response", async (answer) => {
        resolve({ status: answer.statusCode!, headers: answer.headers, body: await wholeOf(answer) });
      });
      sent.end(body);
    });
}

async function wholeOf(message: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of message) pieces.push(piece);
  return Buffer.concat(pieces);
}

export function sendWhole(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, headers).end(body);
}

/** The request does not reach the storage. @param code of S3, for the body of the answer. */
export function refuse(status: number, code?: string): Fault {
  const body = code === undefined ? "" : `<Error><Code>${code}</Code><Message>planned</Message></Error>`;
  const headers = { "content-type": "application/xml", "content-length": body.length };
  return (_, response) => response.writeHead(status, headers).end(body);
}

/** The storage carries it out, but its answer is lost. */
export const loseAnswer: Fault = async (pass, response) => {
  await pass();
  response.destroy();
};

/** The request does not reach the storage, and gets no answer. */
export const stall: Fault = () => undefined;

/** The answer breaks off after this many bytes of its body. */
export function truncate(bytes: number): Fault {
  return async (pass, response) => {
    const { status, headers, body } = await pass();
    response.writeHead(status, headers);
    response.write(body.subarray(0, bytes), () => response.destroy());
  };
}

/** The answer falls silent after this many bytes of its body. */
export function fallSilent(bytes: number): Fault {
  return async (pass, response) => {
    const { status, headers, body } = await pass();
    response.writeHead(status, headers).write(body.subarray(0, bytes));
  };
}

/** The answer is changed on its way. */
export function alter(change: (answer: Answer) => Partial<Answer>): Fault {
  return async (pass, response) => {
    const answer = await pass();
    sendWhole(response, { ...answer, ...change(answer) });
  };
}
