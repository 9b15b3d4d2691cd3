import {
  MucastApiError,
  type OperationView,
  type Snapshot,
  type StoredEvent,
} from "../../../client/index.ts";
import { pause } from "../../service-link.ts";
import type { ViewContext } from "../../view.ts";
import type { FollowedState, HistoryEntry } from "./panel.ts";
import { StagePace } from "./stage-pace.ts";
import { TrainingCurves } from "./training-curves.ts";

const MAX_EVENTS = 50;
/** If there are many events, how often the page is redrawn and the operation is polled. */
const DRAW_MS = 250;
const POLL_MS = 2_000;
/** The operation is also polled if no event arrives, for example behind a proxy that buffers streams. */
const IDLE_POLL_MS = 15_000;
const RETRY_MS = 2_000;

/** An operation, followed by its events. */
export class FollowedOperation implements FollowedState {
  operation: OperationView;
  readonly curves = new TrainingCurves();
  readonly happenings: HistoryEntry[] = [];
  readonly stages: string[] = [];
  readonly pace = new StagePace();
  readonly #context: ViewContext;
  readonly #onChange: () => void;
  #lastEventId: number | undefined;
  #isDrawing = false;
  #isAsking = false;

  /** @param onChange called after a change, at most a few times a second. */
  constructor(operation: OperationView, context: ViewContext, onChange: () => void) {
    this.operation = operation;
    this.#context = context;
    this.#onChange = onChange;
    this.#reached(operation);
  }

  get hasEnded(): boolean {
    return this.operation.finished_at !== null;
  }

  /** Reads the events from the first stored one to the last, over as many connections and restarts as it takes. */
  async follow(): Promise<void> {
    const { client, signal, up } = this.#context;
    while (!signal.aborted) {
      try {
        for await (const event of client.events(this.operation.id, {
          lastEventId: this.#lastEventId,
          signal,
        }))
          this.#take(event);
        await this.#ask();
        if (this.hasEnded) return;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof MucastApiError && error.status < 500 && error.status !== 429) throw error;
        await up().catch(() => undefined);
        await this.#ask();
      }
      await pause(RETRY_MS, signal);
    }
  }

  /** Polls the operation until it has ended. */
  async look(): Promise<void> {
    const { signal } = this.#context;
    for (;;) {
      await pause(IDLE_POLL_MS, signal);
      if (signal.aborted || this.hasEnded) return;
      if (!document.hidden) await this.#ask();
    }
  }

  /** Accepts the state from an answer. */
  update(operation: OperationView): void {
    // An answer that was on its way when the final event arrived.
    if (this.hasEnded) return;
    const before = this.operation.status;
    this.operation = operation;
    this.#reached(operation);
    this.#changed();
    if (operation.status !== before) this.#context.statusChanged(operation);
  }

  #take(event: StoredEvent | Snapshot): void {
    this.#lastEventId = event.seq;
    switch (event.type) {
      case "progress":
        this.pace.add(event.data, Date.parse(event.time));
        this.update({ ...this.operation, progress: event.data });
        return;
      case "epochs":
        this.curves.add(event.data);
        this.#changed();
        return;
      case "snapshot":
        this.update(event.data);
        return;
      case "succeeded":
      case "failed":
      case "canceled":
        this.#happened(event.time, ENDS[event.type]);
        this.update(event.data);
        return;
      case "queued":
        this.#happened(event.time, "submitted");
        return;
      case "started":
        this.#happened(
          event.time,
          event.data.attempt === 1 ? "started" : `started, attempt ${event.data.attempt}`,
        );
        this.update({
          ...this.operation,
          status: "Running",
          started_at: this.operation.started_at ?? event.time,
        });
        break;
      case "cancel_requested":
        this.#happened(event.time, "cancel requested");
        break;
      default:
    }
    // Lists and counts of warnings and failures come from the operation itself, and so does its status.
    void this.#askSoon();
  }

  #happened(time: string, words: string): void {
    this.happenings.push({ time, words });
    if (this.happenings.length > MAX_EVENTS) this.happenings.shift();
    this.#changed();
  }

  #reached({ progress }: OperationView): void {
    if (progress !== null && !this.stages.includes(progress.stage)) this.stages.push(progress.stage);
  }

  async #askSoon(): Promise<void> {
    if (this.#isAsking || this.hasEnded) return;
    this.#isAsking = true;
    await pause(POLL_MS, this.#context.signal);
    this.#isAsking = false;
    await this.#ask();
  }

  async #ask(): Promise<void> {
    const { client, signal } = this.#context;
    if (this.hasEnded || signal.aborted) return;
    try {
      this.update(await client.getOperation(this.operation.id, { signal }));
    } catch {
      // The frame says that the service is away; the page stays unchanged.
    }
  }

  #changed(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    setTimeout(() => {
      this.#isDrawing = false;
      if (!this.#context.signal.aborted) this.#onChange();
    }, DRAW_MS);
  }
}

const ENDS = { succeeded: "succeeded", failed: "failed", canceled: "canceled" } as const;
