import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import type { ForecastQuery, ForecastView } from "../../contract/api/forecast-view.ts";
import { isEnded, type OperationPage, type OperationView } from "../../contract/api/operation-view.ts";
import { isFinal, type Snapshot, type StoredEvent } from "../../contract/api/stored-event.ts";
import { parsePayload } from "../../contract/config/payload.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller, ListQuery, Operations, Submission } from "../operations/operations.ts";
import { FORECAST } from "./openapi/examples.ts";

type EventBody = Pick<StoredEvent, "type" | "data">;

interface Entry {
  readonly caller: string;
  view: OperationView;
  readonly submission: Submission;
  readonly canonical: string;
  readonly events: StoredEvent[];
  /** Events up to this one are gone. */
  pruned: number;
}

/** A fake of everything behind HTTP: operations in memory, which a test moves on by hand. */
export class FakeOperations implements Operations {
  readonly #entries = new Map<string, Entry>();
  readonly #changed = new EventEmitter().setMaxListeners(0);
  /** Thrown by whatever is asked next. */
  failure: unknown;

  /** Readers of events, and waiting answers, that have not gone. */
  get listeners(): number {
    return this.#changed.listenerCount("change");
  }

  submissionOf(id: string): Submission {
    return this.#entries.get(id)!.submission;
  }

  async submit(caller: Caller, submission: Submission) {
    this.#fail();
    const { canonical } = parsePayload(submission.operation, submission.payload);
    const { idempotencyKey } = submission;
    const before = [...this.#entries.values()].find(
      (entry) =>
        idempotencyKey !== undefined &&
        entry.caller === caller.subject &&
        entry.submission.idempotencyKey === idempotencyKey,
    );
    if (before !== undefined) {
      if (before.canonical === canonical) return { operation: before.view, created: false };
      throw new MucastError("idempotency_conflict", "the key has another body", { sameBody: false });
    }
    const view = newView(submission);
    this.#entries.set(view.id, {
      caller: caller.subject,
      view,
      submission,
      canonical,
      events: [],
      pruned: 0,
    });
    this.tell(view.id, { type: "queued", data: { operation: view.operation } });
    return { operation: view, created: true };
  }

  async get(caller: Caller, id: string): Promise<OperationView> {
    this.#fail();
    return this.#entry(caller, id).view;
  }

  async forecast(caller: Caller, { id, tickers }: ForecastQuery): Promise<ForecastView> {
    this.#fail();
    const { view } = this.#entry(caller, id);
    if (view.status === "Succeeded") return { ...FORECAST, id, count: tickers?.length ?? FORECAST.count };
    throw new MucastError("no_result", `operation ${id} is ${view.status}`, {
      operation_status: view.status,
    });
  }

  async list(caller: Caller, { status, operation, cursor, limit }: ListQuery): Promise<OperationPage> {
    this.#fail();
    if (cursor !== undefined && !/^\d+$/.test(cursor)) {
      throw new MucastError("invalid_request", "cursor was not given by this service", {
        path: "query.cursor",
      });
    }
    const start = Number(cursor ?? 0);
    const views = [...this.#entries.values()]
      .filter((entry) => entry.caller === caller.subject)
      .map(({ view }) => view)
      .filter(
        (view) => (status ?? view.status) === view.status && (operation ?? view.operation) === view.operation,
      )
      .reverse();
    const end = start + limit;
    return { operations: views.slice(start, end), next_cursor: end < views.length ? String(end) : null };
  }

  async cancel(caller: Caller, id: string): Promise<OperationView> {
    this.#fail();
    const { view } = this.#entry(caller, id);
    if (view.status === "NotStarted") this.end(id, "Canceled");
    else if (view.status === "Running") this.tell(id, { type: "cancel_requested", data: {} });
    return this.#entry(caller, id).view;
  }

  async wait(caller: Caller, id: string, seconds: number, signal?: AbortSignal): Promise<OperationView> {
    const timeout = AbortSignal.timeout(seconds * 1_000);
    const ending = signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
    while (!isEnded((await this.get(caller, id)).status) && !ending.aborted) await this.#change(ending);
    return this.get(caller, id);
  }

  async *follow(
    caller: Caller,
    id: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<StoredEvent | Snapshot, void> {
    const entry = this.#entry(caller, id);
    let seq = after;
    if (seq < entry.pruned) {
      seq = entry.events.length;
      yield { seq, operation_id: id, time: new Date().toISOString(), type: "snapshot", data: entry.view };
    }
    while (!signal.aborted) {
      for (const event of entry.events.slice(seq)) {
        yield event;
        seq = event.seq;
        if (isFinal(event.type)) return;
      }
      if (isEnded(entry.view.status)) return;
      await this.#change(signal);
    }
  }

  /** An event happens. */
  tell(id: string, body: EventBody): void {
    const { events } = this.#entries.get(id)!;
    const numbered = { seq: events.length + 1, operation_id: id, time: new Date().toISOString() };
    events.push({ ...numbered, ...body } as StoredEvent);
    this.#changed.emit("change");
  }

  start(id: string): void {
    const entry = this.#entries.get(id)!;
    entry.view = { ...entry.view, status: "Running", started_at: new Date().toISOString() };
    this.tell(id, { type: "started", data: { attempt: 1 } });
  }

  end(id: string, status: "Succeeded" | "Canceled" = "Succeeded"): void {
    const entry = this.#entries.get(id)!;
    entry.view = { ...entry.view, status, finished_at: new Date().toISOString() };
    this.tell(id, { type: status === "Succeeded" ? "succeeded" : "canceled", data: entry.view });
  }

  /** Forgets the events there are. */
  prune(id: string): void {
    const entry = this.#entries.get(id)!;
    entry.pruned = entry.events.length;
  }

  async #change(signal: AbortSignal): Promise<void> {
    await once(this.#changed, "change", { signal }).catch((error) => {
      if (!signal.aborted) throw error;
    });
  }

  #entry(caller: Caller, id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry?.caller === caller.subject) return entry;
    throw new MucastError("not_found", `there is no operation ${id}`, { path: "id" });
  }

  #fail(): void {
    const { failure } = this;
    this.failure = undefined;
    if (failure !== undefined) throw failure;
  }
}

function newView({ operation }: Submission): OperationView {
  return {
    id: randomUUID(),
    operation,
    status: "NotStarted",
    created_at: new Date().toISOString(),
    started_at: null,
    finished_at: null,
    progress: null,
    warnings: [],
    result: null,
    error: null,
  };
}
