import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import type { ForecastQuery, ForecastView } from "../../contract/api/forecast-view.ts";
import {
  isEnded,
  type OperationPage,
  type OperationView,
  type VerdictView,
} from "../../contract/api/operation-view.ts";
import { isFinal, type Snapshot, type StoredEvent } from "../../contract/api/stored-event.ts";
import { parsePayload } from "../../contract/config/payload.ts";
import type { PayloadOptions } from "../../contract/config/payload-schemas.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import { FORECAST, VERDICT } from "../http/examples.ts";
import { canceledProblem } from "../queue/finish-attempt.ts";
import { cursorAfter, pageEndOf } from "../store/operation-view.ts";
import type { ListQuery } from "../store/operations.ts";
import { keptPayload } from "./kept-payload.ts";
import type { Operations, Submission } from "./operations.ts";

type EventBody = Pick<StoredEvent, "type" | "data">;

interface Entry {
  readonly ordinal: number;
  readonly caller: string;
  view: OperationView;
  readonly submission: Submission;
  readonly canonical: string;
  readonly events: StoredEvent[];
  /** The newest event that is no longer stored; 0 if all are. */
  pruned: number;
  isCancelRequested: boolean;
}

/** A fake of everything behind HTTP: operations in memory. Tests do by hand what a worker would do. */
export class FakeOperations implements Operations {
  readonly #entries = new Map<string, Entry>();
  readonly #changed = new EventEmitter().setMaxListeners(0);
  readonly #queuedMost: number;
  /** The next call throws it. */
  failure: unknown;

  constructor({ queuedMost = 1_000 } = {}) {
    this.#queuedMost = queuedMost;
  }

  /** The number of event readers and waiting requests. */
  get listeners(): number {
    return this.#changed.listenerCount("change");
  }

  submissionOf(id: string): Submission {
    return this.#entries.get(id)!.submission;
  }

  async submit(caller: Caller, submission: Submission) {
    this.#fail();
    const { canonical, options } = parsePayload(submission.operation, submission.payload);
    const before = this.#withKey(caller, submission.idempotencyKey);
    if (before !== undefined) {
      if (before.view.operation === submission.operation && before.canonical === canonical)
        return { operation: before.view, created: false };
      const data = { path: "Idempotency-Key" };
      throw new MucastError("idempotency_conflict", "the key was used for another request", data);
    }
    const waiting = this.#entriesOf(caller).filter(({ view }) => view.status === "NotStarted").length;
    if (waiting >= this.#queuedMost) {
      throw new MucastError("rate_limited", `${waiting} operations wait`, { retryAfter: 30, limit: waiting });
    }
    const view = newView(submission, options);
    this.#entries.set(view.id, {
      ordinal: this.#entries.size + 1,
      caller: caller.subject,
      view,
      submission,
      canonical,
      events: [],
      pruned: 0,
      isCancelRequested: false,
    });
    this.tell(view.id, { type: "queued", data: { operation: view.operation } });
    return { operation: view, created: true };
  }

  async get(caller: Caller, id: string): Promise<OperationView> {
    this.#fail();
    return this.#entry(caller, id).view;
  }

  async payload(caller: Caller, id: string): Promise<string> {
    this.#fail();
    const { operation, payload } = this.#entry(caller, id).submission;
    return keptPayload(operation, parsePayload(operation, payload));
  }

  async forecast(caller: Caller, { id, tickers }: ForecastQuery): Promise<ForecastView> {
    this.#fail();
    const { view } = this.#entry(caller, id);
    if (view.status === "Succeeded") return { ...FORECAST, id, count: tickers?.length ?? FORECAST.count };
    const data = { path: "id", operation_status: view.status };
    throw new MucastError("no_result", `operation ${id} is ${view.status}`, data);
  }

  async verdict(caller: Caller, id: string): Promise<VerdictView> {
    this.#fail();
    const { view } = this.#entry(caller, id);
    if (view.status === "Succeeded") return { ...VERDICT, id };
    const data = { path: "id", operation_status: view.status };
    throw new MucastError("no_result", `operation ${id} is ${view.status}`, data);
  }

  async list(
    caller: Caller,
    { status, operation, tag = [], cursor, limit }: ListQuery,
  ): Promise<OperationPage> {
    this.#fail();
    const before =
      cursor === undefined ? Number.POSITIVE_INFINITY : this.#entries.get(pageEndOf(cursor).id)!.ordinal;
    const found = this.#entriesOf(caller)
      .filter(({ ordinal }) => ordinal < before)
      .filter(({ view }) => (status ?? view.status) === view.status)
      .filter(({ view }) => (operation ?? view.operation) === view.operation)
      .filter(({ view }) => tag.every((wanted) => view.tags?.includes(wanted)))
      .reverse();
    const page = found.slice(0, limit);
    return {
      operations: page.map(({ view }) => view),
      next_cursor: found.length > limit ? cursorAfter(page.at(-1)!.view) : null,
    };
  }

  async cancel(caller: Caller, id: string): Promise<OperationView> {
    this.#fail();
    const entry = this.#entry(caller, id);
    if (!isEnded(entry.view.status) && !entry.isCancelRequested) {
      entry.isCancelRequested = true;
      this.tell(id, { type: "cancel_requested", data: {} });
    }
    if (entry.view.status === "NotStarted") this.end(id, "Canceled");
    return entry.view;
  }

  async queue(caller: Caller) {
    const of = (entries: readonly { readonly view: OperationView }[]) => ({
      waiting: entries.filter(({ view }) => view.status === "NotStarted").length,
      running: entries.filter(({ view }) => view.status === "Running").length,
    });
    return { ...of([...this.#entries.values()]), own: of(this.#entriesOf(caller)) };
  }

  async wait(caller: Caller, id: string, seconds: number, signal?: AbortSignal): Promise<OperationView> {
    this.#fail();
    const timeout = AbortSignal.timeout(seconds * 1_000);
    const ending = signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
    const entry = this.#entry(caller, id);
    while (!isEnded(entry.view.status) && !ending.aborted) await this.#change(ending);
    return entry.view;
  }

  async *follow(
    caller: Caller,
    id: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<StoredEvent | Snapshot, void> {
    const entry = this.#entry(caller, id);
    let seq = after;
    while (!signal.aborted) {
      const newest = isEnded(entry.view.status) ? entry.events.length - 1 : entry.events.length;
      if (seq < entry.pruned || seq > entry.events.length) {
        seq = seq < entry.pruned ? entry.pruned : newest;
        yield { seq, operation_id: id, time: new Date().toISOString(), type: "snapshot", data: entry.view };
      }
      for (const event of entry.events.slice(seq)) {
        yield event;
        seq = event.seq;
        if (isFinal(event.type)) return;
      }
      if (isEnded(entry.view.status)) return;
      await this.#change(signal);
    }
  }

  /** Stores an event, as a worker does. */
  tell(id: string, body: EventBody): void {
    const { events } = this.#entries.get(id)!;
    const numbered = { seq: events.length + 1, operation_id: id, time: new Date().toISOString() };
    events.push({ ...numbered, ...body } as StoredEvent);
    this.#changed.emit("change");
  }

  /** Starts the first attempt, as a dispatcher does. */
  start(id: string): void {
    const entry = this.#entries.get(id)!;
    entry.view = { ...entry.view, status: "Running", started_at: new Date().toISOString() };
    this.tell(id, { type: "started", data: { attempt: 1 } });
  }

  /** Ends an operation for good, as a dispatcher does. */
  end(id: string, status: "Succeeded" | "Canceled" = "Succeeded"): void {
    const entry = this.#entries.get(id)!;
    const isCanceled = status === "Canceled";
    entry.view = {
      ...entry.view,
      status,
      finished_at: new Date().toISOString(),
      result: isCanceled ? null : resultOf(id),
      error: isCanceled ? canceledProblem() : null,
    };
    this.tell(id, { type: isCanceled ? "canceled" : "succeeded", data: entry.view });
  }

  /** Removes all events except the newest, as the service does if there are too many. */
  prune(id: string): void {
    const entry = this.#entries.get(id)!;
    entry.pruned = entry.events.length - 1;
  }

  async #change(signal: AbortSignal): Promise<void> {
    await once(this.#changed, "change", { signal }).catch((error) => {
      if (!signal.aborted) throw error;
    });
  }

  #entriesOf(caller: Caller): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.caller === caller.subject);
  }

  #withKey(caller: Caller, key: string | undefined): Entry | undefined {
    if (key === undefined) return undefined;
    return this.#entriesOf(caller).find(({ submission }) => submission.idempotencyKey === key);
  }

  #entry(caller: Caller, id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry?.caller === caller.subject) return entry;
    throw new MucastError("not_found", `there is no operation ${JSON.stringify(id)}`, { path: "id" });
  }

  #fail(): void {
    const { failure } = this;
    this.failure = undefined;
    if (failure !== undefined) throw failure;
  }
}

function newView({ operation }: Submission, { tags = [] }: PayloadOptions): OperationView {
  return {
    id: randomUUID(),
    operation,
    status: "NotStarted",
    ...((tags as string[]).length === 0 ? {} : { tags: tags as string[] }),
    created_at: new Date().toISOString(),
    started_at: null,
    finished_at: null,
    progress: null,
    warnings: [],
    result: null,
    error: null,
  };
}

function resultOf(id: string): OperationView["result"] {
  return {
    status: "Succeeded",
    output_url: `memory:/data/ml_engine_${id}.json`,
    output_name: `ml_engine_${id}.json`,
    execution_name: "ml-worker-job-1",
  };
}
