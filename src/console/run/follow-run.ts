import { useEffect, useMemo, useState } from "preact/hooks";
import { pause } from "../../client/connection.ts";
import { endedBy } from "../../client/follow-events.ts";
import {
  type EpochPoint,
  MucastApiError,
  type OperationView,
  type Snapshot,
  type StoredEvent,
} from "../../client/index.ts";
import { useView } from "../view.ts";
import { ownOf } from "../words.ts";
import { networkOf } from "./training.ts";

/** If there are many events, how often the page is redrawn. */
const DRAW_MS = 250;
/** How often the operation itself is read: the events do not have its lists of warnings and failures. */
const POLL_MS = 2_000;

const HAPPENINGS: Readonly<Record<string, string>> = {
  queued: "submitted",
  started: "started",
  cancel_requested: "cancel requested",
  succeeded: "succeeded",
  failed: "failed",
  canceled: "canceled",
};

/** What the page of an operation knows, by its events. */
export class FollowedRun {
  operation: OperationView;
  /** By network and epoch; of a fast job, the service keeps only some. */
  readonly epochs = new Map<string, EpochPoint>();
  /** The number of epochs that the service did not send, as it reports. */
  leftOut = 0;
  /** Starts, further attempts, a cancel, in the order in which they arrived. */
  readonly happenings: { readonly time: string; readonly words: string }[] = [];
  /** Stages that have been reached, in order. */
  readonly stages: string[] = [];

  constructor(operation: OperationView) {
    this.operation = operation;
    this.update(operation);
  }

  get hasEnded(): boolean {
    return this.operation.finished_at !== null;
  }

  update(operation: OperationView): void {
    // Otherwise an answer was on its way when the final event arrived.
    if (!this.hasEnded) this.operation = operation;
    const stage = operation.progress?.stage;
    if (stage !== undefined && !this.stages.includes(stage)) this.stages.push(stage);
  }

  take(event: StoredEvent | Snapshot): void {
    const { type, time, data } = event;
    const whole = type === "snapshot" ? data : endedBy(event);
    if (whole !== undefined) this.update(whole);
    if (type === "epochs") {
      for (const point of data.points) this.epochs.set(`${networkOf(point)} ${point.epoch}`, point);
      this.leftOut += data.left_out ?? 0;
    }
    if (type === "progress") this.update({ ...this.operation, progress: data });
    if (type === "started")
      this.update({ ...this.operation, status: "Running", started_at: this.operation.started_at ?? time });
    const words = ownOf(HAPPENINGS, type);
    const attempt = type === "started" && data.attempt > 1 ? `, attempt ${data.attempt}` : "";
    if (words !== undefined) this.happenings.push({ time, words: `${words}${attempt}` });
  }
}

/**
 * An operation as it goes on. The events of an ended one are read on request, since they may be megabytes.
 * @returns `error`: why its events cannot be read.
 */
export function useRun(operation: OperationView) {
  const { client, signal } = useView();
  const { id } = operation;
  const [, draw] = useState(0);
  const [error, setError] = useState<unknown>();
  const [isFollowed, setFollowed] = useState(operation.finished_at === null);
  const run = useMemo(() => new FollowedRun(operation), []);
  useEffect(() => {
    if (!isFollowed) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const change = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        draw((count) => count + 1);
      }, DRAW_MS);
    };
    let lastEventId: number | undefined;
    const readEvents = async () => {
      for await (const event of client.events(id, { lastEventId, signal })) {
        lastEventId = event.seq;
        run.take(event);
        change();
      }
      return true;
    };
    const read = async () => {
      if (!document.hidden) run.update(await client.getOperation(id, { signal }));
      change();
      return run.hasEnded;
    };
    /** While the service is away, which the frame says, the page stays unchanged. */
    const survive = async (failure: unknown) => {
      if (failure instanceof MucastApiError && failure.status < 500 && failure.status !== 429) throw failure;
    };
    /** Until `act` returns true, or the service refuses it. */
    const repeat = async (act: () => Promise<boolean>) => {
      while (!(await act().catch(survive))) await pause(POLL_MS, signal);
    };
    const failed = (failure: unknown) => void (signal.aborted || setError(failure));
    repeat(readEvents).catch(failed);
    if (!run.hasEnded) repeat(read).catch(failed);
    return () => clearTimeout(timer);
  }, [isFollowed]);
  return { run, error, isFollowed, follow: () => setFollowed(true) };
}
