import { createHash, randomUUID } from "node:crypto";
import { type Insertable, sql } from "kysely";
import { withoutSignature } from "../../blob/policy.ts";
import type { ForecastQuery, ForecastView } from "../../contract/api/forecast-view.ts";
import type { JobPreview } from "../../contract/api/job-preview.ts";
import {
  isEnded,
  type OperationPage,
  type OperationStatus,
  type OperationView,
  type VerdictView,
} from "../../contract/api/operation-view.ts";
import type { QueueView } from "../../contract/api/queue-view.ts";
import type { Snapshot, StoredEvent } from "../../contract/api/stored-event.ts";
import { JOB_OPERATIONS, type SubmittedOperation } from "../../contract/config/job-operations.ts";
import { ownSection, SECTION_KEYS } from "../../contract/config/parse-config.ts";
import type { ParsedPayload } from "../../contract/config/payload.ts";
import { type PayloadUse, URL_MEMBERS } from "../../contract/config/payload-schemas.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { jsonBytes } from "../../contract/json/bounded-json.ts";
import { SIZES } from "../../contract/schema/answer-limits.ts";
import type { Caller } from "../auth/caller.ts";
import type { StoredInputs } from "../blobs/input-urls.ts";
import { spaceOf } from "../blobs/storage.ts";
import type { Database } from "../database/database.ts";
import type { OperationRow, Statements, Tables } from "../database/tables.ts";
import type { Forecasts } from "../forecast/forecasts.ts";
import { canceledProblem } from "../queue/finish-attempt.ts";
import type { ServiceSettings } from "../settings/load-settings.ts";
import { endOperation, requestCancel } from "../store/attempts.ts";
import { lockUsage, type Quota, quotaExceeded, type StorageKey, type StoredJob } from "../store/blobs.ts";
import { cursorAfter, parseCursor } from "../store/cursors.ts";
import { appendEvents, type EventParts } from "../store/events.ts";
import { followEvents, type OperationNotifications } from "../store/follow-events.ts";
import { ACTIVE_STATUSES, listedViewOf, VIEWED, type ViewedRow, viewOf } from "../store/operation-view.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

interface SentPayload {
  /** Its JSON text. The numbers of its config reach the engine as the caller wrote them. */
  readonly payload: string;
  /** The origin at which the request reached the service: URLs of the service's blobs may begin with it. */
  readonly origin?: string | undefined;
}

export interface Submission extends SentPayload {
  readonly operation: SubmittedOperation;
  readonly idempotencyKey?: string | undefined;
  readonly traceparent?: string | undefined;
}

interface ListQuery {
  readonly status?: OperationStatus | undefined;
  readonly operation?: SubmittedOperation | undefined;
  /** Operations that have all of them. */
  readonly tag?: readonly string[] | undefined;
  readonly cursor?: string | undefined;
  /** 1 to 100. */
  readonly limit: number;
}

export interface OperationsParts extends EventParts {
  readonly notifications: OperationNotifications;
  readonly settings: Pick<ServiceSettings, "events_kept" | "queued_per_caller">;
  readonly quota: Quota;
  readonly read: (
    caller: Caller,
    use: PayloadUse,
    sent: SentPayload,
    // As the row stores them. @throws MucastError url_not_allowed for a blob that the caller may not read.
  ) => Promise<ParsedPayload & { inputs(): Promise<StoredInputs> }>;
  readonly preview: (job: StoredJob, signal: AbortSignal) => Promise<Buffer>;
  readonly requireStorage: () => void;
  readonly forecasts: Pick<Forecasts, "of" | "verdict">;
  readonly telemetry: Pick<Telemetry, "queued" | "ended">;
}

const FULL_RETRY_SECONDS = 30;
const PREVIEW_RETRY_SECONDS = 5;
const WAIT_STEP_MILLISECONDS = 5_000;

/** What HTTP, MCP and the command line do with operations. Another caller's operation is not_found for every method. */
export class Operations {
  draining = false;
  readonly #parts: OperationsParts;
  /** The callers that a process previews a job for: one alone could use all processes of requests. */
  readonly #previewing = new Set<string>();

  constructor(parts: OperationsParts) {
    this.#parts = parts;
  }

  /** The same key and body return the operation of the first call (`created` false). */
  async submit(
    caller: Caller,
    submission: Submission,
  ): Promise<{ operation: OperationView; created: boolean }> {
    if (this.draining) throw aboutToEnd();
    const { database, settings, quota } = this.#parts;
    const { operation, idempotencyKey, traceparent } = submission;
    const payload = await this.#parts.read(caller, operation, submission);
    const { config, model } = payload;
    const request = {
      caller: caller.subject,
      idempotency_key: idempotencyKey ?? null,
      body_sha256: sha256(`${operation}\n${payload.canonical}`),
    };
    // Before the inputs, which may have been removed since the first call.
    const before = await findSameKey(database.db, request);
    if (before) return { operation: viewOf(before), created: false };
    this.#parts.requireStorage();
    const { featureUrl, dataExtractorUrl, options, blobs } = await payload.inputs();
    const created = {
      ...{ ...request, operation, config, id: randomUUID(), space: spaceOf(caller.subject) },
      ...{ model: model ?? null, traceparent: traceparent ?? null, config_sha256: sha256(config) },
      ...{ feature_url: featureUrl, data_extractor_url: dataExtractorUrl },
      ...{ options: JSON.stringify(options), tags: JSON.stringify(options.tags ?? []) },
      payload: keptPayload(operation, payload),
    };
    const limits = { blobs, queued: settings.queued_per_caller, quota };
    const inserted = await insertOperation(this.#parts, created, limits);
    if (inserted.created) this.#parts.telemetry.queued(inserted.row);
    return { operation: viewOf(inserted.row), created: inserted.created };
  }

  async validate(caller: Caller, sent: SentPayload, signal: AbortSignal): Promise<JobPreview> {
    const payload = await this.#parts.read(caller, "validate_job", sent);
    const { featureUrl, dataExtractorUrl, options } = await payload.inputs();
    const urls = { feature_url: featureUrl, data_extractor_url: dataExtractorUrl };
    const job = { ...urls, options, config: payload.config, space: spaceOf(caller.subject) };
    if (this.#previewing.has(caller.subject)) {
      const message = "a preview of this caller is in progress already";
      throw new MucastError("rate_limited", message, { retryAfter: PREVIEW_RETRY_SECONDS });
    }
    this.#previewing.add(caller.subject);
    try {
      return JSON.parse((await this.#parts.preview(job, signal)).toString("utf8"));
    } finally {
      this.#previewing.delete(caller.subject);
    }
  }

  async get(caller: Caller, id: string): Promise<OperationView> {
    return viewOf(await this.#read(caller, id));
  }

  /** The JSON text of the payload, without secrets, also after the end. */
  async payload(caller: Caller, id: string): Promise<string> {
    const { db } = this.#parts.database;
    const query = db.selectFrom("operations").select("payload");
    const row = await query.where("id", "=", id).where("caller", "=", caller.subject).executeTakeFirst();
    if (row === undefined) throw noOperation(id);
    if (row.payload !== null) return row.payload;
    const message = `operation ${id} was submitted to an earlier version, which did not keep payloads`;
    throw new MucastError("not_found", message, { path: "id" });
  }

  async forecast(caller: Caller, query: ForecastQuery, signal?: AbortSignal): Promise<ForecastView> {
    return this.#parts.forecasts.of(caller, await this.get(caller, query.id), query, signal);
  }

  async verdict(caller: Caller, id: string, signal?: AbortSignal): Promise<VerdictView> {
    return this.#parts.forecasts.verdict(caller, await this.get(caller, id), signal);
  }

  async list(caller: Caller, query: ListQuery): Promise<OperationPage> {
    const { database } = this.#parts;
    const rows = await listOperations(database, caller.subject, { ...query, limit: query.limit + 1 });
    const operations: OperationView[] = [];
    // Leaves room for the cursor and the names of its members. A page has at least one operation.
    let room = SIZES.page - 512;
    for (const row of rows.slice(0, query.limit)) {
      const view = listedViewOf(row);
      room -= jsonBytes(view) + 1;
      if (room < 0 && operations.length > 0) break;
      operations.push(view);
    }
    const last = operations.length < (rows[0]?.found_rows ?? 0) ? rows[operations.length - 1] : undefined;
    return { operations, next_cursor: last ? cursorAfter(last.created_at, last.id) : null };
  }

  /** It becomes Canceled at once if it has not started, and stays Running until its job has stopped. */
  async cancel(caller: Caller, id: string): Promise<OperationView> {
    await this.#read(caller, id);
    const row = await requestCancel(this.#parts, id);
    if (row?.status === "NotStarted") {
      const ending = { status: "Canceled", problem: canceledProblem() } as const;
      const ended = await endOperation(this.#parts, row, ending);
      if (ended) this.#parts.telemetry.ended(ended, []);
    }
    return this.get(caller, id);
  }

  async queue({ subject }: Caller): Promise<Pick<QueueView, "waiting" | "running" | "own">> {
    const rows = await this.#parts.database.db
      .selectFrom("operations")
      .select(({ fn, eb }) => [
        "status",
        fn.countAll<number>().as("all"),
        fn.sum<number>(eb.case().when("caller", "=", subject).then(1).else(0).end()).as("own"),
      ])
      .where("status", "in", ACTIVE_STATUSES)
      .groupBy("status")
      .execute();
    const none = { all: 0, own: 0 };
    const waiting = rows.find(({ status }) => status === "NotStarted") ?? none;
    const running = rows.find(({ status }) => status === "Running") ?? none;
    return {
      waiting: waiting.all,
      running: running.all,
      own: { waiting: waiting.own, running: running.own },
    };
  }

  async wait(caller: Caller, id: string, seconds: number, signal?: AbortSignal): Promise<OperationView> {
    const deadline = performance.now() + seconds * 1_000;
    for (;;) {
      const left = Math.ceil(Math.max(0, deadline - performance.now()));
      const next = this.#parts.notifications.next(id, Math.min(left, WAIT_STEP_MILLISECONDS), signal);
      const view = await this.get(caller, id);
      if (isEnded(view.status) || left === 0 || signal?.aborted) return view;
      await next;
    }
  }

  /** The events after `after` (0: all of them), then each as it happens, up to the final one. */
  follow(
    caller: Caller,
    id: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<StoredEvent | Snapshot, void> {
    const { database, notifications } = this.#parts;
    return followEvents({ database, notifications, signal, after, read: () => this.#read(caller, id) });
  }

  async #read({ subject }: Caller, id: string): Promise<ViewedRow> {
    const query = this.#parts.database.db.selectFrom("operations").select(VIEWED);
    const row = await query.where("id", "=", id).where("caller", "=", subject).executeTakeFirst();
    if (row === undefined) throw noOperation(id);
    return row;
  }
}

/** The error of requests that a closing service ends or refuses. */
export function aboutToEnd(): MucastError {
  return new MucastError("unavailable", "the service is about to end", { retryAfter: 10 });
}

function noOperation(id: string): MucastError {
  const message = `there is no operation ${JSON.stringify(id.slice(0, 100))}`;
  return new MucastError("not_found", message, { path: "id" });
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** An operation to be stored. Its `tags` are a column beside the options, since they outlive these. */
type NewOperation = Insertable<Tables["operations"]>;

/** If submissions with one key run concurrently, one creates the operation; the others wait for it and get the same. */
export function insertOperation(
  parts: EventParts,
  operation: NewOperation,
  limits: { readonly blobs: readonly StorageKey[]; readonly queued: number; readonly quota: Quota },
): Promise<{ readonly row: OperationRow; readonly created: boolean }> {
  const { database } = parts;
  const { caller } = operation;
  const { blobs, queued, quota } = limits;
  return database.write(async (db) => {
    // No other submission of the caller is open from here on.
    const stored = await lockUsage(db, caller);
    const before = await findSameKey(db, operation);
    if (before) return { row: before, created: false };
    const { active, waiting } = await db
      .selectFrom("operations")
      .select(({ fn, eb }) => [
        fn.countAll<number>().as("active"),
        fn.count<number>(eb.case().when("status", "=", "NotStarted").then(1).end()).as("waiting"),
      ])
      .where("caller", "=", caller)
      .where("status", "in", ACTIVE_STATUSES)
      .executeTakeFirstOrThrow();
    const used = { bytes: stored.bytes, blobs: stored.blobs + active };
    if (used.bytes >= quota.bytes || used.blobs >= quota.blobs) throw quotaExceeded(used, quota);
    await lockInputs(database, db, caller, blobs);
    if (waiting >= queued) {
      const message = `${counted(queued, "operation")} of this caller ${queued === 1 ? "waits" : "wait"} to start already`;
      throw new MucastError("rate_limited", message, { retryAfter: FULL_RETRY_SECONDS, limit: queued });
    }
    const row = await db
      .insertInto("operations")
      .values({ ...operation, last_seq: 1 })
      .returningAll()
      .executeTakeFirstOrThrow();
    await appendEvents(parts, db, row, [{ type: "queued", data: { operation: row.operation } }]);
    return { row, created: true };
  });
}

/** Locks the records of inputs, so that no removal takes one before the transaction ends. */
async function lockInputs(
  database: Database,
  db: Statements,
  caller: string,
  blobs: readonly StorageKey[],
): Promise<void> {
  if (blobs.length === 0) return;
  const found = await db
    .selectFrom("blobs")
    .select(["name", "space"])
    .where(({ and }) => and({ caller, state: "stored" }))
    .where(
      "name",
      "in",
      blobs.map(({ name }) => name),
    )
    .modifyEnd(database.lock("blobs", "wait"))
    .execute();
  const missing = blobs.find(
    (blob) => !found.some(({ name, space }) => name === blob.name && space === blob.space),
  );
  if (missing === undefined) return;
  const { name } = missing;
  throw new MucastError("url_not_allowed", `${name} has just been removed`, { value: name });
}

async function findSameKey(
  db: Statements,
  { caller, idempotency_key, body_sha256 }: Pick<NewOperation, "caller" | "idempotency_key" | "body_sha256">,
): Promise<OperationRow | undefined> {
  if (!idempotency_key) return undefined;
  const row = await db
    .selectFrom("operations")
    .selectAll()
    .where(({ and }) => and({ caller, idempotency_key }))
    .executeTakeFirst();
  if (row === undefined || row.body_sha256 === body_sha256) return row;
  const message = "this Idempotency-Key was used for another request; take a new key for another body";
  throw new MucastError("idempotency_conflict", message, { path: "Idempotency-Key" });
}

/**
 * If retention has removed the last operation of the previous page, the page starts with the next older one.
 * @returns the first rows, up to the size of a page. Each has the number of all of them, `found_rows`.
 */
export async function listOperations(
  database: Database,
  caller: string,
  { status, operation, tag = [], cursor, limit }: ListQuery,
): Promise<readonly (ViewedRow & { readonly found_rows: number })[]> {
  const { db } = database;
  let page = db
    .selectFrom("operations")
    .select([...VIEWED, "ordinal"])
    .where("caller", "=", caller);
  if (status !== undefined) page = page.where("status", "=", status);
  if (operation !== undefined) page = page.where("operation", "=", operation);
  if (tag.length > 0) page = page.where(database.hasAll("tags", tag));
  if (cursor !== undefined) {
    const { name: id, createdAt } = parseCursor(cursor);
    const found = db.selectFrom("operations").select("ordinal").where("id", "=", id);
    const last = await found.where("caller", "=", caller).executeTakeFirst();
    page = last
      ? page.where("ordinal", "<", last.ordinal)
      : page.where("created_at", "<=", createdAt).where("id", "<>", id);
  }
  const bytes = ["warnings", "failures", "error"].map((name) => database.jsonBytes(name));
  const before = sql`over (order by ordinal desc rows between unbounded preceding and 1 preceding)`;
  const sized = db
    .selectFrom(page.orderBy("ordinal", "desc").limit(limit).as("found"))
    .selectAll()
    .select([
      sql<number>`count(*) over ()`.as("found_rows"),
      sql<number>`coalesce(sum(${sql.join(bytes, sql` + `)}) ${before}, 0)`.as("bytes_before"),
    ]);
  const listed = db.selectFrom(sized.as("listed")).selectAll().where("bytes_before", "<", SIZES.page);
  return listed.orderBy("ordinal", "desc").execute();
}

export async function countWaiting(db: Statements): Promise<number> {
  const query = db.selectFrom("operations").select(({ fn }) => fn.countAll<number>().as("waiting"));
  return (await query.where("status", "=", "NotStarted").executeTakeFirstOrThrow()).waiting;
}

/** Without secrets: no query of a URL, no sections of other services, no config that contains a signature. A replay has no config. */
export function keptPayload(
  operation: SubmittedOperation,
  { featureUrl, dataExtractorUrl, config, options }: ParsedPayload,
): string {
  const job = JOB_OPERATIONS.find((name) => name === (options.operation ?? operation));
  const kept = job && keptConfig(config, job);
  const withoutQuery = (url: string) => JSON.stringify(url.split(/[?#]/)[0]!);
  const members = [
    ...Object.entries({ feature_url: featureUrl, data_extractor_url: dataExtractorUrl })
      .filter(([, url]) => url !== "")
      .map(([name, url]) => [name, withoutQuery(url)]),
    ...(kept === undefined ? [] : [["config", kept]]),
    ...Object.entries(options).map(([name, value]) => [
      name,
      Object.hasOwn(URL_MEMBERS, name) ? withoutQuery(String(value)) : JSON.stringify(value),
    ]),
  ];
  return `{\n${members.map(([name, text]) => `  ${JSON.stringify(name)}: ${text}`).join(",\n")}\n}`;
}

/** As the caller wrote it if the job's own section is all it has, so that its digest stays the same. */
function keptConfig(config: string, job: (typeof JOB_OPERATIONS)[number]): string | undefined {
  const section = ownSection(config, job);
  const isWhole = Object.keys(JSON.parse(config)).length === 1 && config.includes(section);
  const text = isWhole ? config : `{${JSON.stringify(SECTION_KEYS[job][0])}: ${section}}`;
  const decoded = JSON.stringify(JSON.parse(text));
  return [text, decoded].some((each) => withoutSignature(each) !== each) ? undefined : text;
}
