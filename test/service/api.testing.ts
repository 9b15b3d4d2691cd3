/** The service as a caller sees it: plain HTTP, with every answer validated against the published schemas. */
import assert from "node:assert/strict";
import {
  isEnded,
  type OperationPage,
  type OperationView,
  operationPageSchema,
  operationSchema,
} from "../../src/contract/api/operation-view.ts";
import { snapshotSchema, storedEventSchema } from "../../src/contract/api/stored-event.ts";
import type { SubmittedOperation } from "../../src/contract/config/job-operations.ts";
import { problemSchema } from "../../src/contract/problems/problem.ts";
import { eventually } from "./eventually.testing.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** One event of a stream as it came over the wire. */
export interface WireEvent {
  readonly id: string | undefined;
  readonly type: string;
  readonly data: unknown;
}

interface EventStream {
  readonly status: number;
  readonly headers: Headers;
  /** To the end of the stream. */
  readonly events: AsyncGenerator<WireEvent, void>;
}

/** No test passes or fails because of this; it ends a test that would never end. */
const MINUTES_TO_END = 3;

export class Api {
  readonly url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.url = url;
    this.#headers = headers;
  }

  async ask(
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const answer = await fetch(path.startsWith("http") ? path : `${this.url}${path}`, {
      method,
      headers: { ...this.#headers, ...headers },
      redirect: "manual",
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }

  /** @param payload JSON text. */
  post(
    operation: SubmittedOperation,
    payload: string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.ask("POST", `/v1/${operation}`, payload, { "content-type": "application/json", ...headers });
  }

  /** Submits a job that must be accepted, once the service is ready: on a busy machine, its first probe of a storage may time out. */
  async submit(
    payload: string,
    headers: Record<string, string> = {},
    operation: SubmittedOperation = "run_ml_job",
  ): Promise<OperationView> {
    const answer = await eventually("the service accepts jobs", async () => {
      const answered = await this.post(operation, payload, headers);
      return answered.status === 503 ? undefined : answered;
    });
    return operationOf(answer, headers.prefer ? [200, 202] : [202]);
  }

  async get(id: string): Promise<OperationView> {
    return operationOf(await this.ask("GET", `/v1/operations/${id}`), [200]);
  }

  async list(query = ""): Promise<OperationPage> {
    const answer = await this.ask("GET", `/v1/operations${query}`);
    assert.equal(answer.status, 200, answer.text);
    return operationPageSchema.parse(JSON.parse(answer.text));
  }

  async cancel(id: string): Promise<OperationView> {
    return operationOf(await this.ask("POST", `/v1/operations/${id}/cancel`), [200, 202]);
  }

  /** The operation once it has ended. */
  async ended(id: string): Promise<OperationView> {
    let last: OperationView | undefined;
    for (let minutes = 0; minutes < MINUTES_TO_END; minutes++) {
      last = operationOf(
        await this.ask("GET", `/v1/operations/${id}`, undefined, { prefer: "wait=60" }),
        [200],
      );
      if (isEnded(last.status)) return last;
    }
    throw new Error(`waited in vain: ${JSON.stringify(last)}`);
  }

  /** The operation once it runs. @throws if it has ended instead. */
  async running(id: string): Promise<OperationView> {
    const seen = await this.once(id, ({ status }) => status !== "NotStarted");
    assert.equal(seen.status, "Running", JSON.stringify(seen.error));
    return seen;
  }

  async once(id: string, wanted: (operation: OperationView) => boolean): Promise<OperationView> {
    let last: OperationView | undefined;
    const look = async () => {
      last = await this.get(id);
      return wanted(last) ? last : undefined;
    };
    return eventually(`the operation ${id}`, look).catch((error) => {
      throw new Error(JSON.stringify(last), { cause: error });
    });
  }

  async put(name: string, text: string | Uint8Array): Promise<Answer> {
    return this.ask("PUT", `/data/${name}`, text as string, { "content-type": "application/json" });
  }

  async events(id: string, lastEventId?: string): Promise<EventStream> {
    const answer = await fetch(`${this.url}/v1/operations/${id}/events`, {
      headers: {
        ...this.#headers,
        accept: "text/event-stream",
        ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
      },
    });
    const { status, headers } = answer;
    return { status, headers, events: parseEvents(answer.body!) };
  }
}

/** The events of the service, each of which has one line of data; other blocks are comments and the time to reconnect. */
async function* parseEvents(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<WireEvent, void> {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream()).values()) {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) {
      const [, id, type, data] = /^id: (\d+)\nevent: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      if (data !== undefined) yield { id, type: type!, data: JSON.parse(data) };
    }
  }
}

/** Everything in a stream, validated against the published schemas. */
export async function collect(stream: EventStream): Promise<WireEvent[]> {
  assert.equal(stream.status, 200);
  const events: WireEvent[] = [];
  for await (const event of stream.events) events.push(event);
  for (const { type, data } of events) {
    (type === "snapshot" ? snapshotSchema : storedEventSchema).parse(data);
  }
  return events;
}

export function operationOf(answer: Answer, statuses: readonly number[]): OperationView {
  assert.ok(statuses.includes(answer.status), `${answer.status}: ${answer.text}`);
  return operationSchema.parse(JSON.parse(answer.text));
}

/** The problem of a refusal. */
export function problemOf(answer: Answer, status: number, code: string): Record<string, unknown> {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.headers.get("content-type") ?? "", /^application\/problem\+json/);
  const problem = problemSchema.parse(JSON.parse(answer.text));
  assert.equal(problem.code, code, answer.text);
  return problem;
}
