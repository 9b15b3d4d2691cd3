import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ForecastQuery, ForecastView } from "../../contract/api/forecast-view.ts";
import type { OperationView, VerdictView } from "../../contract/api/operation-view.ts";
import { parsePayload } from "../../contract/config/payload.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Caller } from "../auth/caller.ts";
import type { Blobs } from "../blobs/blobs.ts";
import { type Database, openDatabase } from "../database/database.ts";
import { Forecasts } from "../forecast/forecasts.ts";
import { FORECAST, VERDICT } from "../http/examples.ts";
import { canceledProblem } from "../queue/finish-attempt.ts";
import { endOperation, readOperation, recordStart } from "../store/attempts.ts";
import { appendEvents, type NewEvent } from "../store/events.ts";
import { OperationNotifications } from "../store/follow-events.ts";
import { noTelemetry } from "../telemetry/no-telemetry.testing.ts";
import { Operations, type OperationsParts, type Submission } from "./operations.ts";

const NO_BLOBS: Pick<Blobs, "find"> = { find: () => Promise.reject(new Error("no test here reads a blob")) };

/** What operations need beside a database. They accept any URL. */
export async function operationsOn(
  database: Database,
  { blobs = NO_BLOBS, requireStorage = (): void => undefined } = {},
): Promise<OperationsParts> {
  return {
    database,
    notifications: await OperationNotifications.start(database),
    webhooks: [],
    settings: { events_kept: 1_000, queued_per_caller: 1_000 },
    quota: { bytes: 2 ** 30, blobs: 10_000 },
    requireStorage,
    read: async (_caller, use, { payload }) => {
      const parsed = parsePayload(use, payload);
      return { ...parsed, inputs: async () => ({ ...parsed, blobs: [] }) };
    },
    preview: () => Promise.reject(new Error("no process is started here")),
    forecasts: new Forecasts(blobs),
    telemetry: noTelemetry,
  };
}

/** Operations of which a test does by hand what a worker would do. Each step waits for the one before. */
export class SteppedOperations extends Operations {
  /** The number of event readers and waiting requests. */
  listeners = 0;
  readonly parts: OperationsParts;
  readonly #submissions = new Map<string, Submission>();
  #steps: Promise<unknown> = Promise.resolve();
  #close: () => Promise<void> = async () => undefined;

  constructor(parts: OperationsParts) {
    super(parts);
    this.parts = parts;
  }

  /** Opens some on a database of their own. */
  static async open(): Promise<SteppedOperations> {
    const folder = mkdtempSync(join(tmpdir(), "mucast-operations-"));
    const database = await openDatabase({ data_dir: folder });
    const parts = await operationsOn(database);
    const operations = new SteppedOperations(parts);
    operations.#close = async () => {
      await operations.#steps;
      await parts.notifications.close();
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    };
    return operations;
  }

  close(): Promise<void> {
    return this.#close();
  }

  submissionOf(id: string): Submission {
    return this.#submissions.get(id)!;
  }

  override async submit(caller: Caller, submission: Submission) {
    const submitted = await super.submit(caller, submission);
    this.#submissions.set(submitted.operation.id, submission);
    return submitted;
  }

  override async forecast(caller: Caller, { id, tickers }: ForecastQuery): Promise<ForecastView> {
    await this.#requireResult(caller, id);
    return { ...FORECAST, id, count: tickers?.length ?? FORECAST.count };
  }

  override async verdict(caller: Caller, id: string): Promise<VerdictView> {
    await this.#requireResult(caller, id);
    return { ...VERDICT, id };
  }

  override async wait(...asked: Parameters<Operations["wait"]>): Promise<OperationView> {
    this.listeners += 1;
    try {
      return await super.wait(...asked);
    } finally {
      this.listeners -= 1;
    }
  }

  override async *follow(...asked: Parameters<Operations["follow"]>) {
    this.listeners += 1;
    try {
      yield* super.follow(...asked);
    } finally {
      this.listeners -= 1;
    }
  }

  /** Starts the first attempt, as a dispatcher does. */
  start(id: string): Promise<void> {
    return this.#step(async ({ database }) => {
      const running = { status: "Running", attempt: 1, owner: "a test" } as const;
      const [started_at, attempt_started_at] = [database.time(), database.time()];
      await database.write((db) =>
        db
          .updateTable("operations")
          .set({ ...running, started_at, attempt_started_at })
          .where("id", "=", id)
          .execute(),
      );
      await recordStart(this.parts, { id, attempt: 1 }, "handle");
    });
  }

  /** Ends an operation for good, as a dispatcher does. */
  end(id: string, status: "Succeeded" | "Canceled" = "Succeeded"): Promise<void> {
    return this.#step(async ({ database }) => {
      const row = (await readOperation(database, id))!;
      const succeeded = { status: "Succeeded", record: recordOf(id), bytes: 1 } as const;
      const canceled = { status: "Canceled", problem: canceledProblem() } as const;
      const ended = await endOperation(this.parts, row, status === "Succeeded" ? succeeded : canceled);
      if (!ended) throw new Error(`${id} has ended already`);
    });
  }

  /** Stores an event, as a worker does. */
  tell(id: string, event: NewEvent): Promise<void> {
    return this.#step(async ({ database }) => {
      await database.write(async (db) => {
        const counted = db.updateTable("operations").set(({ eb }) => ({ last_seq: eb("last_seq", "+", 1) }));
        const row = await counted
          .where("id", "=", id)
          .returning(["id", "last_seq"])
          .executeTakeFirstOrThrow();
        await appendEvents(this.parts, db, row, [event]);
      });
    });
  }

  #step(step: (parts: OperationsParts) => Promise<void>): Promise<void> {
    const stepped = this.#steps.then(() => step(this.parts));
    this.#steps = stepped;
    return stepped;
  }

  async #requireResult(caller: Caller, id: string): Promise<void> {
    const { status } = await this.get(caller, id);
    if (status === "Succeeded") return;
    const data = { path: "id", operation_status: status };
    throw new MucastError("no_result", `operation ${id} is ${status}`, data);
  }
}

export function recordOf(id: string) {
  return {
    status: "Succeeded",
    output_url: `memory:/data/ml_engine_${id}.json`,
    output_name: `ml_engine_${id}.json`,
    execution_name: "ml-worker-job-1",
  } as const;
}
