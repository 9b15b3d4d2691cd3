import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { answering } from "../../../test/servers/answering.testing.ts";

const certificates = new URL("../../../test/certificates/", import.meta.url);
const cert = readFileSync(new URL("localhost.cert.pem", certificates), "utf8");
const key = readFileSync(new URL("localhost.key.pem", certificates), "utf8");

export const TOKEN = "TOKEN-SECRET";
const ROOT = "/subscriptions/sub-1/resourceGroups/group-1/providers/Microsoft.App/jobs";
const RESULTS =
  "/subscriptions/sub-1/providers/Microsoft.App/locations/here/containerappsjobOperationResults";

/** The calls that the fake supports. */
export type Call = "job" | "start" | "result" | "execution" | "list" | "stop";

/** What a call gets instead of its answer. `after` carries the call out first. */
export interface Fault {
  readonly answer: "cut" | Answer;
  readonly after?: true;
}

interface Answer {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Record<string, string>;
}

export interface FakeExecution {
  readonly job: string;
  readonly name: string;
  readonly template: {
    containers: { name: string; args?: string[]; env: { name: string; value?: string }[] }[];
  };
  /** What the API returns besides the template: status, reason, message, detailedStatus. */
  properties: Record<string, unknown> & { status: string };
  /** The number of lists and reads that do not show it yet. */
  hidden: number;
}

/** A fake of the part of Azure's management API that serves Container Apps jobs, over https on the loopback address. */
export class FakeManagementApi {
  readonly jobs = new Map<string, object>();
  readonly executions: FakeExecution[] = [];
  readonly calls: Call[] = [];
  /** 202 makes start and stop long-running operations, which end at the second poll. */
  answers: 200 | 202 = 200;
  pageSize = 100;
  /** For executions that are started: the number of lists and reads that do not show them yet. */
  hidden = 0;
  /** Runs what was started, if a test needs that. */
  onStart: (execution: FakeExecution) => void = () => undefined;
  /** The states of an execution after a stop, in order, one per read. */
  stopping: string[] = ["Stopped"];
  readonly #faults: { call: Call; fault: Fault }[] = [];
  readonly #server: Server;
  /** The address of the fake. After it closes, the same address answers the requests that are still on their way. */
  endpoint = "";

  private constructor() {
    const answer = answering((request, response) => this.#answer(request, response));
    this.#server = createServer({ cert, key }, answer);
  }

  static async open(): Promise<FakeManagementApi> {
    const fake = new FakeManagementApi();
    await new Promise<void>((resolve) => fake.#server.listen(0, "127.0.0.1", resolve));
    fake.endpoint = `https://127.0.0.1:${(fake.#server.address() as AddressInfo).port}`;
    return fake;
  }

  /** Options of the SDK's client. */
  get client() {
    return { endpoint: this.endpoint, tlsOptions: { ca: cert } };
  }

  readonly credential = {
    getToken: async () => ({ token: TOKEN, expiresOnTimestamp: Date.now() + 3_600_000 }),
  };

  /** Makes the next `times` calls of this kind fail like this. */
  fail(call: Call, fault: Fault, times = 1): void {
    for (let n = 0; n < times; n++) this.#faults.push({ call, fault });
  }

  count(call: Call): number {
    return this.calls.filter((each) => each === call).length;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.endpoint);
    const body = await text(request);
    const found = route(request.method ?? "", url.pathname);
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return send(response, 401, error("no token"));
    if (found === undefined || !url.searchParams.has("api-version")) {
      return send(response, 400, error(`no such call: ${request.method} ${url.pathname}`));
    }
    const { call, names } = found;
    this.calls.push(call);
    const index = this.#faults.findIndex((entry) => entry.call === call);
    const fault = index < 0 ? undefined : this.#faults.splice(index, 1)[0]!.fault;
    if (fault !== undefined && !fault.after) return failWith(response, fault);
    const answer = this.#carryOut(call, names, url, body);
    if (fault !== undefined) return failWith(response, fault);
    return send(response, answer.status, answer.body, answer.headers);
  }

  #carryOut(call: Call, [job = "", name = ""]: readonly string[], url: URL, body: string): Answer {
    if (call === "result") return this.#result(job);
    if (call === "start") return this.#start(job, JSON.parse(body));
    if (call === "list") return this.#list(job, url);
    if (call === "job") {
      const resource = this.jobs.get(job);
      return resource === undefined ? missing(job) : { status: 200, body: resource };
    }
    const execution = this.executions.find((entry) => entry.job === job && entry.name === name);
    if (execution === undefined || execution.hidden-- > 0) return missing(name);
    if (call === "stop") {
      execution.properties.status = "Running";
      this.#stopped.set(name, [...this.stopping]);
      return this.#accepted(name);
    }
    const next = this.#stopped.get(name)?.shift();
    if (next !== undefined) execution.properties.status = next;
    return { status: 200, body: shown(execution) };
  }

  readonly #stopped = new Map<string, string[]>();
  readonly #results = new Map<string, number>();

  #start(job: string, template: FakeExecution["template"]): Answer {
    const name = `${job}-${(this.executions.length + 1).toString(36).padStart(7, "x")}`;
    const properties = { status: "Running" };
    const execution = { job, name, template, properties, hidden: this.hidden };
    this.executions.push(execution);
    this.onStart(execution);
    return this.#accepted(name);
  }

  #accepted(name: string): Answer {
    if (this.answers === 200) return { status: 200, body: { name, id: `${ROOT}/executions/${name}` } };
    this.#results.set(name, 1);
    return { status: 202, headers: { location: `${this.endpoint}${RESULTS}/${name}?api-version=1` } };
  }

  #result(name: string): Answer {
    const left = this.#results.get(name) ?? 0;
    this.#results.set(name, left - 1);
    if (left <= 0) return { status: 200, body: { name, id: `${ROOT}/executions/${name}` } };
    return { status: 202, headers: { location: `${this.endpoint}${RESULTS}/${name}?api-version=1` } };
  }

  #list(job: string, url: URL): Answer {
    const skip = Number(url.searchParams.get("skip") ?? 0);
    const all = this.executions.filter((entry) => entry.job === job && entry.hidden-- <= 0);
    const value = all.slice(skip, skip + this.pageSize).map(shown);
    const next = `${this.endpoint}${ROOT}/${job}/executions?skip=${skip + this.pageSize}`;
    return { status: 200, body: { value, ...(all.length > skip + this.pageSize ? { nextLink: next } : {}) } };
  }
}

const ROUTES: readonly (readonly [Call, string, RegExp])[] = [
  ["job", "GET", new RegExp(`^${ROOT}/([^/]+)$`)],
  ["start", "POST", new RegExp(`^${ROOT}/([^/]+)/start$`)],
  ["list", "GET", new RegExp(`^${ROOT}/([^/]+)/executions$`)],
  ["execution", "GET", new RegExp(`^${ROOT}/([^/]+)/executions/([^/]+)$`)],
  ["stop", "POST", new RegExp(`^${ROOT}/([^/]+)/executions/([^/]+)/stop$`)],
  ["result", "GET", new RegExp(`^${RESULTS}/([^/]+)$`)],
];

function route(method: string, path: string): { call: Call; names: string[] } | undefined {
  const found = ROUTES.find(([, verb, pattern]) => verb === method && pattern.test(path));
  return found && { call: found[0], names: found[2].exec(path)!.slice(1) };
}

function shown({ job, name, template, properties }: FakeExecution): object {
  const id = `${ROOT}/${job}/executions/${name}`;
  return { id, name, type: "Microsoft.App/jobs/executions", properties: { ...properties, template } };
}

function missing(name: string): Answer {
  return { status: 404, body: error(`${name} was not found`, "ResourceNotFound") };
}

function error(message: string, code = "InvalidRequest"): object {
  return { error: { code, message } };
}

function failWith(response: ServerResponse, { answer }: Fault): void {
  if (answer === "cut") response.destroy();
  else send(response, answer.status, answer.body ?? error("as the test wants it"), answer.headers);
}

function send(response: ServerResponse, status: number, body?: object, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}
