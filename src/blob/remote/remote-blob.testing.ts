/** A real https server on the loopback address for the tests of remote blobs, and functions that read from it. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after } from "node:test";
import { inspect } from "node:util";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import { type OpenOptions, openBlob } from "../open-blob.ts";
import type { BlobPolicy, TransferLimits } from "../policy.ts";
import { bytesOf, failure as failureOf } from "../store-promises.testing.ts";

const certificates = new URL("../../../test/certificates/", import.meta.url);
export const cert = readFileSync(new URL("localhost.cert.pem", certificates), "utf8");
const key = readFileSync(new URL("localhost.key.pem", certificates), "utf8");

/** Closed at the end of the file. */
export const servers: Server[] = [];
after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

export interface TestServer {
  readonly location: string;
  readonly policy: BlobPolicy;
  readonly requests: IncomingMessage[];
}

/** A real https server on the loopback address that answers with `listener`. */
export async function serve(listener: RequestListener): Promise<TestServer> {
  const requests: IncomingMessage[] = [];
  const server = createServer({ cert, key }, (request, response) => {
    requests.push(request);
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const container = `https://127.0.0.1:${(server.address() as AddressInfo).port}/container`;
  return {
    location: `${container}/data/feature_engine_1.json?sv=1&sig=SECRET`,
    policy: { allowed: [container], privateOrigins: [new URL(container).origin] },
    requests,
  };
}

export const CONTENT = randomBytes(100_000);
export const QUICK: Partial<TransferLimits> = { rangeBytes: 30_000, backoffMs: 1, attempts: 3 };

export async function readAll({ location, policy }: TestServer, options: OpenOptions = {}) {
  const blob = await openBlob(location, policy, {
    ca: cert,
    ...options,
    limits: { ...QUICK, ...options.limits },
  });
  return { blob, bytes: await bytesOf(blob.chunks) };
}

/** Checks that no failure discloses the secret of the query. */
export async function failure(code: ErrorCode, attempt: Promise<unknown>): Promise<MucastError> {
  const error = await failureOf(code, attempt);
  assert.doesNotMatch(inspect(error, { depth: 20, showHidden: true }), /SECRET/);
  return error;
}

/** Start and end (inclusive) of the requested range. */
export function rangeOf(request: IncomingMessage): [number, number] | undefined {
  const match = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
  return match ? [Number(match[1]), Number(match[2])] : undefined;
}

/** Answers like a storage service with ranges and versions. */
export function sendRange(
  request: IncomingMessage,
  response: ServerResponse,
  content: Buffer,
  etag = '"v1"',
) {
  const condition = request.headers["if-match"];
  const range = rangeOf(request);
  if (condition !== undefined && condition !== etag) return response.writeHead(412).end();
  if (range === undefined)
    return response.writeHead(200, { etag, "content-length": content.length }).end(content);
  if (range[0] >= content.length) {
    return response.writeHead(416, { "content-range": `bytes */${content.length}` }).end();
  }
  const body = content.subarray(range[0], range[1] + 1);
  const contentRange = `bytes ${range[0]}-${range[0] + body.length - 1}/${content.length}`;
  return response
    .writeHead(206, { etag, "content-range": contentRange, "content-length": body.length })
    .end(body);
}
