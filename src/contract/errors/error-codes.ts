/**
 * The code of every error that a user can get; docs/errors.md is generated from it.
 *
 * `exit` is the exit code of the command line. `status` is the HTTP status of a refused request, or the status inside
 * the problem of a failed operation. `advice` is the sentence that says what to do.
 */
export const ERROR_TABLE = {
  invalid_request: {
    status: 400,
    exit: 2,
    title: "The payload or the config is not valid",
    advice:
      "Correct what is named; the accepted shapes are in docs/config.md and the service's /openapi.json, or printed by `mucast schema` and `--help`.",
  },
  unknown_model: {
    status: 400,
    exit: 2,
    title: "The model is not known",
    advice: "Use one of the names listed; mucast never falls back to another model.",
  },
  invalid_model_params: {
    status: 400,
    exit: 2,
    title: "The model parameters are not accepted",
    advice: "Correct the parameter named; see docs/model-params.md for what may be passed.",
  },
  url_not_allowed: {
    status: 400,
    exit: 2,
    title: "The URL is outside the allowed origins and containers",
    advice:
      "Use a blob under an allowed URL, or let the operator add its origin to MUCAST_ALLOWED_BLOB_URLS.",
  },
  too_large: {
    status: 413,
    exit: 2,
    title: "A stated limit is exceeded",
    advice: "Make the input smaller, or raise the limit named where it is configurable.",
  },
  blob_not_found: {
    status: 502,
    exit: 3,
    title: "An input does not exist",
    advice: "Check the URL or the path, and that the step before this one has written it.",
  },
  blob_unavailable: {
    status: 502,
    exit: 3,
    title: "An input could not be read",
    advice: "The storage failed after retries; try again later.",
  },
  unreadable_blob: {
    status: 422,
    exit: 3,
    title: "An input is cut off, damaged or not valid JSON",
    advice: "Write it again; the place of the first fault is given.",
  },
  invalid_data: {
    status: 422,
    exit: 3,
    title: "An input holds data that cannot be used",
    advice: "Correct the value at the place given.",
  },
  insufficient_history: {
    status: 422,
    exit: 3,
    title: "Too few rows to learn from",
    advice:
      "Give a longer window, features with fewer gaps or a smaller lookback; a ticker needs 30 fit rows, a network 30 windows that train.",
  },
  sparse_prices: {
    status: 422,
    exit: 3,
    title: "Prices lie too far apart to learn from",
    advice:
      "Give daily or weekly prices: a label is the return to the next price, which has to come within 10 calendar days.",
  },
  all_failed: {
    status: 422,
    exit: 3,
    title: "Every ticker failed",
    advice: "See `failures` for the reason of each ticker.",
  },
  no_forecast: {
    status: 422,
    exit: 3,
    title: "No ticker has a current forecast",
    advice: "Bring the blob that ends early up to the last price date.",
  },
  fit_failed: {
    status: 422,
    exit: 3,
    title: "A fit failed",
    advice: "See the message; where every ticker has a model of its own, the others go on.",
  },
  device_unavailable: {
    status: 422,
    exit: 3,
    title: "The device asked for is not there",
    advice: "Ask for the CPU, or run on a machine that has the device.",
  },
  engine_unavailable: {
    status: 500,
    exit: 4,
    title: "The engine is not installed, or its cluster cannot be used",
    advice:
      "Run `mucast setup` (`mucast setup --dl` for run_dl_job, `mucast setup --ray` for a cluster), or name a ready interpreter in MUCAST_PYTHON; with a cluster do what the message says, and `mucast doctor --engine <url>` looks at it.",
  },
  engine_crashed: {
    status: 500,
    exit: 4,
    title: "Processes of the engine died",
    advice:
      "The message says how: after SIGKILL look at the machine's memory; after SIGSEGV or SIGABRT change the parameters of the model, or the data of the ticker that is named, since a library failed at them.",
  },
  out_of_memory: {
    status: 500,
    exit: 4,
    title: "The job held more memory than it may",
    advice:
      "Give it more (MUCAST_MEMORY_BYTES), let fewer jobs run at a time or with fewer workers, or make it smaller: fewer tickers, rows or features.",
  },
  output_failed: {
    status: 502,
    exit: 3,
    title: "The result could not be written",
    advice:
      "Check room and rights at the place that is named, of the output or of the work folder; nothing half-written is left.",
  },
  quota_exceeded: {
    status: 507,
    exit: null,
    title: "The caller has no room for another blob",
    advice:
      "Delete blobs that are no longer needed (DELETE /data/{name}), or ask the operator to raise the quota named.",
  },
  storage_full: {
    status: 507,
    exit: null,
    title: "The storage is full",
    advice: "Nothing of it was stored; try again once the operator has made room.",
  },
  storage_failed: {
    status: 502,
    exit: null,
    title: "The storage could not be written to",
    advice: "Nothing has changed; try again later, or have the operator look at the storage's rights.",
  },
  timed_out: {
    status: 504,
    exit: 5,
    title: "The time limit was reached",
    advice: "Raise the limit or make the job smaller.",
  },
  canceled: {
    status: 499,
    exit: 130,
    title: "The job was cancelled",
    advice: "No output was written; submit it again if that was not meant.",
  },
  diverged: {
    status: 422,
    exit: 3,
    title: "The loss is not finite, or far too large",
    advice:
      "Lower the learning rate or clip gradients; where every ticker has a network of its own, the others go on.",
  },
  constant_target: {
    status: 422,
    exit: 3,
    title: "All training labels are equal",
    advice: "There is nothing to learn for this ticker; check its prices.",
  },
  unauthorized: {
    status: 401,
    exit: null,
    title: "No valid credentials",
    advice: "Send a valid key or token.",
  },
  forbidden: {
    status: 403,
    exit: null,
    title: "Not allowed for these credentials",
    advice: "Ask the operator for the right.",
  },
  not_found: {
    status: 404,
    exit: null,
    title: "There is nothing of that name",
    advice: "Check the URL and the id; ended operations are kept for a stated time.",
  },
  no_result: {
    status: 409,
    exit: null,
    title: "The operation has no result",
    advice: "Ask for the operation: while it is NotStarted or Running wait for it, else read its error.",
  },
  other_result: {
    status: 409,
    exit: null,
    title: "The operation leaves a result of another kind",
    advice:
      "Of run_ml_job and run_dl_job ask for the forecast or the report (get_forecast, get_report), of an audit or a replay for the verdict (get_verdict).",
  },
  method_not_allowed: {
    status: 405,
    exit: null,
    title: "The method is not allowed here",
    advice: "Use a method that the Allow header names.",
  },
  idempotency_conflict: {
    status: 409,
    exit: null,
    title: "The idempotency key is in use",
    advice: "Wait for the first request to end, or use a new key for another body.",
  },
  blob_in_use: {
    status: 409,
    exit: null,
    title: "The blob is in use",
    advice: "Wait until the operations that are named have ended, or cancel them.",
  },
  precondition_failed: {
    status: 412,
    exit: null,
    title: "The blob is not the version that was asked for",
    advice: "Read it again and decide by what it holds now.",
  },
  unsupported_media_type: {
    status: 415,
    exit: null,
    title: "The media type is not supported",
    advice: "Send application/json.",
  },
  range_not_satisfiable: {
    status: 416,
    exit: null,
    title: "The range lies outside the blob",
    advice: "Ask for a part of the size that Content-Range states.",
  },
  rate_limited: {
    status: 429,
    exit: null,
    title: "Too many requests",
    advice: "Try again after the time that Retry-After states.",
  },
  execution_lost: {
    status: 500,
    exit: null,
    title: "The job was lost too often",
    advice:
      "See the message for the causes. If a process was ended by SIGKILL, look at the memory of the machine or container; if the service was, give it more time to stop. Then submit it again.",
  },
  process_lost: {
    status: 500,
    exit: null,
    title: "The process that worked on the request died",
    advice:
      "Ask once more in a minute; where it dies again, look at the memory of the machine, or use `mucast report` and `mucast prepare`.",
  },
  unavailable: {
    status: 503,
    exit: 3,
    title: "The service cannot take work now",
    advice: "Do what the message says; where it says nothing of that, try again later.",
  },
  cannot_listen: {
    status: 503,
    exit: 3,
    title: "The service cannot listen on its address",
    advice:
      "Give another --port (0 takes a free one) or another --host, or end the process that listens there.",
  },
  internal: {
    status: 500,
    exit: 1,
    title: "A defect in mucast",
    advice: "Please report it with the message and the steps that led here.",
  },
} as const satisfies Record<string, ErrorEntry>;

export interface ErrorEntry {
  readonly status: number;
  /** Null for errors of the service alone, which end no process. */
  readonly exit: number | null;
  readonly title: string;
  readonly advice: string;
}

export type ErrorCode = keyof typeof ERROR_TABLE;
