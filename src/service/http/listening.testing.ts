/** The HTTP part of a service on a real socket and a real blob folder, with fakes of the other parts. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { type IncomingMessage, type RequestOptions, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { openStore } from "../../blob/open-store.ts";
import type { BlobStore } from "../../blob/store.ts";
import { type Settings, settingsSchema } from "../../contract/settings.ts";
import { buildAuthenticate } from "../auth/build-authenticate.ts";
import { FakeKeyStore } from "../auth/fake-key-store.testing.ts";
import { registerMcp } from "../mcp/register-mcp.ts";
import { SteppedOperations } from "../operations/operations.testing.ts";
import { Preparations, type PrepareFiles } from "../preparation/preparations.ts";
import { FakeReportLinks } from "../report/fake-report-links.testing.ts";
import { type DrawPage, Reports } from "../report/reports.ts";
import { noTelemetry } from "../telemetry/no-telemetry.testing.ts";
import type { RequestDone } from "../telemetry/telemetry.ts";
import { FakeBlobs } from "./blobs/fake-blobs.testing.ts";
import { buildHttp } from "./build-http.ts";
import type { HttpApp, HttpOptions } from "./server/http-app.ts";

export const LOCAL_TOKEN = "the-token-of-the-lock-file";

export interface Listening {
  readonly app: HttpApp;
  readonly origin: string;
  readonly port: number;
  readonly operations: SteppedOperations;
  readonly keys: FakeKeyStore;
  readonly blobs: FakeBlobs;
  readonly store: BlobStore;
  /** Names of all files in `data/`, hidden ones too. */
  files(): Promise<string[]>;
  /** Message and fields of each log line, as JSON. */
  readonly logged: string[];
  /** The requests that telemetry has recorded. */
  readonly done: RequestDone[];
  close(): Promise<void>;
}

/** Listens on a free loopback port. @param given settings other than the defaults. @param parts parts other than the fakes. */
export async function listen(
  given: Partial<Settings> = {},
  parts: Partial<
    Pick<HttpOptions, "ready" | "authenticate" | "beatMilliseconds"> & {
      store: BlobStore;
      /** By default draws a page that shows the number of pages drawn so far. */
      draw: DrawPage;
      /** By default prepares no CSV. */
      prepare: PrepareFiles;
    }
  > = {},
): Promise<Listening> {
  const folder = await mkdtemp(join(tmpdir(), "mucast-http-"));
  const settings = { ...settingsSchema.parse({}), ...given };
  const policy = { allowed: [], mapped: [{ base: "", folder }] };
  const store = parts.store ?? (await openStore("", { policy }));
  const operations = await SteppedOperations.open();
  const [keys, blobs] = [new FakeKeyStore(), new FakeBlobs(store)];
  const drawn: string[] = [];
  const draw: DrawPage = async ([output]) => Buffer.from(`<!doctype html>${drawn.push(output!.name)}`);
  const reports = new Reports({ blobs, draw: parts.draw ?? draw, cacheBytes: settings.report_cache_bytes });
  const [logged, done]: [string[], RequestDone[]] = [[], []];
  const write = (fields: object, message: string) => void logged.push(JSON.stringify({ message, ...fields }));
  const log = { debug: write, info: write, warn: write, error: write, child: () => log };
  const app = buildHttp({
    settings,
    operations,
    keys,
    blobs,
    reports,
    reportLinks: new FakeReportLinks(),
    preparations: new Preparations({ blobs, settings, run: parts.prepare ?? refusePreparation }),
    localToken: LOCAL_TOKEN,
    beatMilliseconds: parts.beatMilliseconds,
    log,
    authenticate:
      parts.authenticate ??
      (await buildAuthenticate(settings, {
        keys,
        firstIssuer: async (issuer) => issuer,
        log,
        localToken: LOCAL_TOKEN,
      })),
    telemetry: {
      ...noTelemetry,
      requestStarted: ({ traceparent }) => ({ traceparent, ended: (what) => void done.push(what) }),
    },
    occupancy: () => ({ running: 0, jobs: 2, cores: { used: 0, of: 4 } }),
    ready: parts.ready ?? (async () => [{ name: "database", ok: true }]),
  });
  registerMcp(app, { operations, settings, log });
  await app.listen({ host: settings.host, port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const files = () => readdir(join(folder, "data")).catch(() => []);
  const close = async () => {
    await app.close();
    await operations.close();
    await rm(folder, { recursive: true, force: true });
  };
  return {
    app,
    origin: `http://127.0.0.1:${port}`,
    port,
    operations,
    keys,
    blobs,
    store,
    files,
    logged,
    done,
    close,
  };
}

const refusePreparation: PrepareFiles = () => Promise.reject(new Error("no process is started here"));

/** The same for one test, which closes the service at its end. */
export async function listenFor(t: TestContext, ...given: Parameters<typeof listen>): Promise<Listening> {
  const service = await listen(...given);
  t.after(() => service.close());
  return service;
}

const PATIENCE_MILLISECONDS = 600_000;

/** Waits until a condition holds. @throws after 10 minutes. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MILLISECONDS;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`in vain: ${holds}`);
    await new Promise(setImmediate);
  }
}

export interface RawAnswer {
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
