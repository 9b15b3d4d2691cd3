import { useEffect, useRef, useState } from "preact/hooks";
import { MucastApiError, type OperationView, type Snapshot, type StoredEvent } from "../../client/index.ts";
import { pause } from "../service-link.ts";
import { useView, type ViewContext } from "../view.ts";
import { TrainingCurves } from "./training-curves.ts";

const MAX_EVENTS = 50;
/** If there are many events, how often the page is redrawn and the operation is polled. */
const DRAW_MS = 250;
const POLL_MS = 2_000;
const RETRY_MS = 2_000;

/** What the page of an operation knows, by its events. */
export class FollowedRun {
  operation: OperationView;
  readonly curves = new TrainingCurves();
  /** Starts, further attempts, a cancel, in the order in which they arrived. */
  readonly happenings: { readonly time: string; readonly words: string }[] = [];
  /** Stages that have been reached, in order. */
  readonly stages: string[] = [];
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
    this.#reach(operation);
  }

  get hasEnded(): boolean {
    return this.operation.finished_at !== null;
  }

  /** Reads the events from the first stored one to the last, over as many connections and restarts as it takes. */
  async follow(): Promise<void> {
    const { client, signal, up } = this.#context;
    while (!signal.aborted) {
      try {
        const options = { lastEventId: this.#lastEventId, signal };
        for await (const event of client.events(this.operation.id, options)) this.#take(event);
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

  #update(operation: OperationView): void {
    // An answer that was on its way when the final event arrived.
    if (this.hasEnded) return;
    const before = this.operation.status;
    this.operation = operation;
    this.#reach(operation);
    this.#change();
    if (operation.status !== before) this.#context.statusChanged(operation);
  }

  #take(event: StoredEvent | Snapshot): void {
    this.#lastEventId = event.seq;
    switch (event.type) {
      case "progress":
        this.#update({ ...this.operation, progress: event.data });
        return;
      case "epochs":
        this.curves.add(event.data);
        this.#change();
        return;
      case "snapshot":
        this.#update(event.data);
        return;
      case "succeeded":
      case "failed":
      case "canceled":
        this.#happen(event.time, event.type);
        this.#update(event.data);
        return;
      case "queued":
        this.#happen(event.time, "submitted");
        return;
      case "started": {
        const { attempt } = event.data;
        this.#happen(event.time, attempt === 1 ? "started" : `started, attempt ${attempt}`);
        const { started_at } = this.operation;
        this.#update({ ...this.operation, status: "Running", started_at: started_at ?? event.time });
        break;
      }
      case "cancel_requested":
        this.#happen(event.time, "cancel requested");
        break;
      default:
    }
    // Lists and counts of warnings and failures come from the operation itself, and so does its status.
    void this.#askSoon();
  }

  #happen(time: string, words: string): void {
    this.happenings.push({ time, words });
    if (this.happenings.length > MAX_EVENTS) this.happenings.shift();
    this.#change();
  }

  #reach({ progress }: OperationView): void {
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
    // The frame says that the service is away; the page stays unchanged.
    await client.getOperation(this.operation.id, { signal }).then(
      (operation) => this.#update(operation),
      () => undefined,
    );
  }

  #change(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    setTimeout(() => {
      this.#isDrawing = false;
      if (!this.#context.signal.aborted) this.#onChange();
    }, DRAW_MS);
  }
}

/**
 * An operation as it goes on. That of an ended one is read on request, since its events may be megabytes.
 * @returns `error`: why its events cannot be read.
 */
export function useRun(operation: OperationView) {
  const context = useView();
  const [, draw] = useState(0);
  const [error, setError] = useState<unknown>();
  const [isFollowed, setFollowed] = useState(operation.finished_at === null);
  const run = useRef<FollowedRun>(null);
  run.current ??= new FollowedRun(operation, context, () => draw((count) => count + 1));
  useEffect(() => {
    if (isFollowed)
      run.current!.follow().catch((failure: unknown) => void (context.signal.aborted || setError(failure)));
  }, [isFollowed]);
  // It may have ended before the page of its submission was shown.
  useEffect(() => {
    if (operation.finished_at !== null) context.statusChanged(operation);
  }, []);
  return { run: run.current, error, isFollowed, follow: () => setFollowed(true) };
}
