/** The HTTP part of a service on a real socket, database and blob folder. Tests do by hand what jobs and processes would. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { type IncomingMessage, type RequestOptions, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { eventuallyTrue } from "../../../test/service/eventually.testing.ts";
import { openStore } from "../../blob/open-store.ts";
import { type Settings, settingsSchema } from "../../contract/settings.ts";
import { buildAuthenticate } from "../auth/authenticate.ts";
import type { Caller } from "../auth/caller.ts";
import { KeyStore } from "../auth/key-store.ts";
import { StoredBlobs } from "../blobs/blobs.ts";
import { registerMcp } from "../mcp/mcp-server.ts";
import { SteppedOperations } from "../operations/operations.testing.ts";
import { Preparations, type PrepareFiles } from "../preparation/preparations.ts";
import { type DrawPage, ReportLinks, Reports } from "../report/reports.ts";
import { noTelemetry } from "../telemetry/no-telemetry.testing.ts";
import type { RequestDone } from "../telemetry/telemetry.ts";
import { buildHttp } from "./build-http.ts";
import { EXAMPLE_PAYLOADS } from "./examples.ts";
import type { HttpOptions } from "./http-app.ts";

/** Whom requests come from without authentication. */
const CALLER: Caller = { subject: "local", scopes: new Set(["read", "write"]) };
export const LOCAL_TOKEN = "the-token-of-the-lock-file";

export type Listening = Awaited<ReturnType<typeof listen>>;

/** Listens on a free loopback port. @param changed settings other than the defaults. @param parts that the test makes. */
export async function listen(
  changed: Partial<Settings> = {},
  parts: Partial<Pick<HttpOptions, "ready" | "beatMilliseconds">> & {
    readonly draw?: DrawPage;
    readonly prepare?: PrepareFiles;
  } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), "mucast-http-"));
  const settings = { ...settingsSchema.parse({}), ...changed };
  const policy = { allowed: [], mapped: [{ base: "", folder }] };
  const store = await openStore("", { policy });
  const operations = await SteppedOperations.open();
  const { database } = operations.parts;
  const keys = new KeyStore(database);
  const quota = { bytes: settings.stored_bytes_per_caller, blobs: settings.stored_blobs_per_caller };
  const blobs = new StoredBlobs({ database, store, settings, quota });
  /** Message and fields of each log line, as JSON. */
  const logged: string[] = [];
  const write = (fields: object, message: string) => void logged.push(JSON.stringify({ message, ...fields }));
  const log = { debug: write, info: write, warn: write, error: write };
  /** The requests that telemetry has recorded. */
  const done: RequestDone[] = [];
  const noProcess = () => Promise.reject(new Error("no process is started here"));
  const app = buildHttp({
    ...{ settings, operations, keys, blobs, log, beatMilliseconds: parts.beatMilliseconds },
    reports: new Reports({ blobs, draw: parts.draw ?? noProcess, cacheBytes: settings.report_cache_bytes }),
    reportLinks: new ReportLinks(database, keys),
    preparations: new Preparations({ blobs, settings, run: parts.prepare ?? noProcess }),
    authenticate: await buildAuthenticate(settings, { database, keys, log, localToken: LOCAL_TOKEN }),
    telemetry: {
      ...noTelemetry,
      requestStarted: ({ traceparent }) => ({ traceparent, ended: (what) => void done.push(what) }),
    },
    occupancy: () => ({ running: 0, jobs: 2, cores: { used: 0, of: 4 } }),
    ready: parts.ready ?? (async () => [{ name: "database", ok: true }]),
  });
  registerMcp(app, { operations, log });
  await app.listen({ host: settings.host, port: 0 });
  const { port } = app.server.address() as AddressInfo;
  /** Names of all files in `data/`, hidden ones too. */
  const files = (): Promise<string[]> => readdir(join(folder, "data")).catch(() => []);
  const close = async () => {
    await app.close();
    await operations.close();
    await rm(folder, { recursive: true, force: true });
  };
  /** @returns the id of a queued operation. */
  const submit = async (operation: keyof typeof EXAMPLE_PAYLOADS = "run_ml_job", caller = CALLER) => {
    const payload = JSON.stringify(EXAMPLE_PAYLOADS[operation]);
    return (await operations.submit(caller, { operation, payload })).operation.id;
  };
  const finish = async (id: string) => {
    await operations.start(id);
    await operations.end(id);
  };
  const origin = `http://127.0.0.1:${port}`;
  return { submit, finish, origin, port, operations, keys, blobs, store, files, logged, done, close };
}

/** The same for one test, which closes the service at its end. */
export async function listenFor(t: TestContext, ...given: Parameters<typeof listen>): Promise<Listening> {
  const service = await listen(...given);
  t.after(() => service.close());
  return service;
}

/** Waits until a condition holds. */
export const eventually = (holds: () => boolean | Promise<boolean>) => eventuallyTrue(String(holds), holds);

interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** Sends a request, with any headers, including those that fetch forbids. */
export function ask(port: number, options: RequestOptions, body?: string | Uint8Array): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const sent = sendRequest({ host: "127.0.0.1", port, agent: false, ...options }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (piece: string) => {
        text += piece;
      });
      answer.on("end", () => resolve({ status: answer.statusCode!, headers: answer.headers, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export function bearer(token: string | undefined): { authorization?: string } {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** Status and code of an answer that is a problem. */
export function codeOf({ status, text }: Pick<RawAnswer, "status" | "text">): [number, string] {
  return [status, JSON.parse(text).code ?? text];
}
