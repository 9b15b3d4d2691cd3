/**
 * A fake storage on a loopback origin, with ranges and entity tags, that fails as a test asks. A held blob keeps the job that reads it
 * Running until it is released, so that tests can catch jobs in the middle without a clock.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { eventuallyTrue } from "./eventually.testing.ts";
import type { Connection } from "./processes.testing.ts";

export type Behaviour =
  | { readonly kind: "serve" }
  /** No answer until `release`. */
  | { readonly kind: "hold" }
  /** Every request is answered with this status. */
  | { readonly kind: "status"; readonly status: number }
  /** Sends the first bytes and then nothing more, with the connection open. */
  | { readonly kind: "stall"; readonly after: number }
  /** Serves a first range of this many bytes; later requests get another version. */
  | { readonly kind: "replace"; readonly after: number }
  | { readonly kind: "redirect"; readonly location: string };

interface StoredHere {
  readonly bytes: Buffer;
  behaviour: Behaviour;
  readonly waiting: (() => void)[];
  requests: number;
  connection: Connection;
}

export interface FakeStorage {
  readonly origin: string;
  /** Origin and container, in the form of MUCAST_ALLOWED_BLOB_URLS. */
  readonly url: string;
  /** The settings that a service needs to read from here. */
  readonly env: Readonly<Record<string, string>>;
  put(name: string, text: string, behaviour?: Behaviour): void;
  /** Serves a held blob, now and from now on. */
  release(name: string): void;
  /** Resolves once a request for the blob has come. */
  untilRequested(name: string, times?: number): Promise<void>;
  /** The one that the last request for the blob came over. */
  connection(name: string): Connection;
  stop(): Promise<void>;
}

export async function startFakeStorage(): Promise<FakeStorage> {
  const blobs = new Map<string, StoredHere>();
  const server = createServer((request, answer) => {
    const name = new URL(request.url!, "http://localhost").pathname.replace(/^\/container\/data\//, "");
    const blob = blobs.get(name);
    if (blob === undefined) return void answer.writeHead(404).end();
    blob.requests++;
    blob.connection = { from: request.socket.remotePort!, to: request.socket.localPort! };
    if (blob.behaviour.kind === "hold") blob.waiting.push(() => serve(blob, request, answer));
    else serve(blob, request, answer);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const url = `${origin}/container`;
  return {
    origin,
    url,
    env: { MUCAST_ALLOWED_BLOB_URLS: url, MUCAST_PRIVATE_ORIGINS: origin },
    put: (name, text, behaviour = { kind: "serve" }) =>
      void blobs.set(name, {
        bytes: Buffer.from(text),
        behaviour,
        waiting: [],
        requests: 0,
        connection: { from: 0, to: 0 },
      }),
    release: (name) => {
      const blob = blobs.get(name)!;
      blob.behaviour = { kind: "serve" };
      for (const go of blob.waiting.splice(0)) go();
    },
    untilRequested: async (name, times = 1) => {
      await eventuallyTrue(`${name} is asked for`, () => blobs.get(name)!.requests >= times);
    },
    connection: (name) => blobs.get(name)!.connection,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function serve(blob: StoredHere, request: IncomingMessage, answer: ServerResponse): void {
  const { behaviour } = blob;
  if (behaviour.kind === "status") return void answer.writeHead(behaviour.status).end();
  if (behaviour.kind === "redirect") {
    return void answer.writeHead(302, { location: behaviour.location }).end();
  }
  const version = behaviour.kind === "replace" && blob.requests > 1 ? "later" : "first";
  const etag = `"${createHash("sha256").update(blob.bytes).update(version).digest("hex")}"`;
  const wanted = request.headers["if-match"];
  if (wanted !== undefined && wanted !== etag) return void answer.writeHead(412).end();
  const [, from = "0", to = ""] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
  const first = Number(from);
  const last = Math.min(to === "" ? Number.POSITIVE_INFINITY : Number(to), blob.bytes.length - 1);
  const end =
    behaviour.kind === "replace" && version === "first" ? Math.min(last + 1, behaviour.after) : last + 1;
  const part = blob.bytes.subarray(first, end);
  answer.writeHead(206, {
    etag,
    "accept-ranges": "bytes",
    "content-type": "application/json",
    "content-length": part.length,
    "content-range": `bytes ${first}-${end - 1}/${blob.bytes.length}`,
  });
  if (behaviour.kind === "stall") return void answer.write(part.subarray(0, behaviour.after));
  answer.end(part);
}
