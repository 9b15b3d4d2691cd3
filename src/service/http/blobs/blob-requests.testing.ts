import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import type { Settings } from "../../../contract/settings.ts";
import { ask, type Listening, listen, type RawAnswer } from "../listening.testing.ts";

type Headers = Record<string, string | number>;

/** A service, and requests to it for blobs. */
export interface ListeningForBlobs extends Listening {
  put(name: string, body: string, headers?: Headers): Promise<RawAnswer>;
  get(name: string, headers?: Headers, method?: string): Promise<RawAnswer>;
  remove(name: string, headers?: Headers): Promise<RawAnswer>;
  /** Starts an upload whose pieces the test sends one by one. */
  beginPut(name: string, headers: Headers): BegunPut;
}

type BegunPut = ReturnType<typeof beginPut>;

export async function listenForBlobs(settings: Partial<Settings> = {}): Promise<ListeningForBlobs> {
  const service = await listen(settings);
  const { port } = service;
  const pathOf = (name: string) => `/data/${name}`;
  return {
    ...service,
    put: (name, body, headers = {}) => {
      const length = { "content-length": Buffer.byteLength(body) };
      return ask(port, { method: "PUT", path: pathOf(name), headers: { ...length, ...headers } }, body);
    },
    get: (name, headers = {}, method = "GET") => ask(port, { method, path: pathOf(name), headers }),
    remove: (name, headers = {}) => ask(port, { method: "DELETE", path: pathOf(name), headers }),
    beginPut: (name, headers) => beginPut(port, pathOf(name), headers),
  };
}

function beginPut(port: number, path: string, headers: Headers) {
  const sent = request({ host: "127.0.0.1", port, method: "PUT", path, headers, agent: false });
  const status = once(sent, "response").then(([answer]) => {
    answer.resume();
    return answer.statusCode as number;
  });
  return {
    sent,
    status,
    write: (text: string) => new Promise<void>((resolve) => void sent.write(text, () => resolve())),
  };
}

/** Closes the service. @throws if a request hit a defect. */
export async function closeWithoutDefects(service: Listening): Promise<void> {
  await service.close();
  assert.deepEqual(
    service.logged.filter((line) => line.includes("defect")),
    [],
  );
}

let count = 0;

export function freshName(): string {
  return `feature_engine_b${++count}.json`;
}

export function codeOf({ status, text }: RawAnswer): [number, string] {
  return [status, JSON.parse(text).code];
}
