import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answering } from "../../test/servers/answering.testing.ts";

interface Asked {
  /** Such as `POST /api/2.0/mlflow/runs/create`, without a query string. */
  readonly request: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface FakeRun {
  readonly run_id: string;
  status: string;
  readonly artifact_uri: string;
  readonly tags: readonly { readonly key: string; readonly value: string }[];
  readonly params: Map<string, string>;
  /** Values by name and step. */
  readonly metrics: Map<string, number>;
}

/** Answers instead of the fake. @returns true to let the fake answer after all. */
type Answer = (response: ServerResponse, asked: Asked) => unknown;

/**
 * A fake of an MLflow server on loopback, with experiments and runs in memory, for the faults that a real one cannot be made to have. The
 * release tier tests a real one.
 */
export class FakeTracker {
  readonly asked: Asked[] = [];
  readonly runs: FakeRun[] = [];
  readonly artifacts = new Map<string, Buffer>();
  /** The next answers to requests whose path ends with the key. */
  readonly answers = new Map<string, Answer[]>();
  artifactRoot = "mlflow-artifacts:/1";
  lifecycle = "active";
  experiment: string | undefined;
  origin = "";
  readonly #server = createServer(answering((request, response) => this.#answer(request, response)));

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.origin = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  /** Lets `answer` answer the next requests to a path that ends with `end`. */
  next(end: string, answer: Answer, times = 1): void {
    this.answers.set(end, [...(this.answers.get(end) ?? []), ...Array<Answer>(times).fill(answer)]);
  }

  count(end: string): number {
    return this.asked.filter(({ request }) => request.endsWith(end)).length;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const path = request.url!.split("?")[0]!;
    const asked = {
      request: `${request.method} ${path}`,
      headers: request.headers,
      body: Buffer.concat(pieces),
    };
    this.asked.push(asked);
    const planned = [...this.answers].find(([end, answers]) => path.endsWith(end) && answers.length > 0);
    if (planned !== undefined && planned[1].shift()!(response, asked) !== true) return;
    if (request.method === "PUT") {
      this.artifacts.set(path.replace("/api/2.0/mlflow-artifacts/artifacts/", ""), asked.body);
      sendJson(response, 200, {});
      return;
    }
    const body = asked.body.length === 0 ? {} : JSON.parse(asked.body.toString());
    const [status, answer] = this.#resultOf(path.replace("/api/2.0/mlflow/", ""), body);
    if (!response.destroyed) sendJson(response, status, answer);
  }

  // biome-ignore lint/suspicious/noExplicitAny: the body of a request of MLflow's API.
  #resultOf(method: string, body: any): [status: number, answer: unknown] {
    const run = this.runs.find(({ run_id }) => run_id === body.run_id)!;
    switch (method) {
      case "experiments/get-by-name":
        if (this.experiment === undefined) return [404, { error_code: "RESOURCE_DOES_NOT_EXIST" }];
        return [200, { experiment: { experiment_id: "1", lifecycle_stage: this.lifecycle } }];
      case "experiments/create":
        if (this.experiment !== undefined) return [400, { error_code: "RESOURCE_ALREADY_EXISTS" }];
        this.experiment = body.name;
        return [200, { experiment_id: "1" }];
      case "runs/search": {
        const [, key, value] = /^tags\."(.+)" = '(.+)'$/.exec(body.filter)!;
        const isFound = ({ tags }: FakeRun) => tags.some((tag) => tag.key === key && tag.value === value);
        return [200, { runs: this.runs.filter(isFound).map(infoOf) }];
      }
      case "runs/create": {
        const run_id = `run${this.runs.length}`;
        const artifact_uri = `${this.artifactRoot}/${run_id}/artifacts`;
        const values = { params: new Map<string, string>(), metrics: new Map<string, number>() };
        this.runs.push({ run_id, status: "RUNNING", artifact_uri, tags: body.tags, ...values });
        return [200, { run: infoOf(this.runs.at(-1)!) }];
      }
      case "runs/log-batch":
        for (const { key, value } of body.params ?? []) run.params.set(key, value);
        for (const { key, value, step } of body.metrics ?? []) run.metrics.set(`${key} ${step}`, value);
        return [200, {}];
      case "runs/update":
        run.status = body.status;
        return [200, {}];
      default:
        return [404, { error_code: "ENDPOINT_NOT_FOUND" }];
    }
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function infoOf({ run_id, status, artifact_uri }: FakeRun) {
  return { info: { run_id, status, artifact_uri } };
}
