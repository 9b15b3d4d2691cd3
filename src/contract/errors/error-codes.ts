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
    title: "The payload or the config is invalid",
    advice: "Correct what the message names.",
  },
  unknown_model: {
    status: 400,
    exit: 2,
    title: "Unknown model",
    advice: "Use one of the listed names. mucast never falls back to another model.",
  },
  invalid_model_params: {
    status: 400,
    exit: 2,
    title: "Invalid model parameters",
    advice: "Correct the named parameter. docs/model-params.md lists the accepted parameters.",
  },
  url_not_allowed: {
    status: 400,
    exit: 2,
    title: "The URL is outside the allowed origins and containers",
    advice:
      "Use a blob at an allowed URL, or ask the operator to add its origin to MUCAST_ALLOWED_BLOB_URLS.",
  },
  too_large: {
    status: 413,
    exit: 2,
    title: "A limit is exceeded",
    advice: "Make the input smaller, or raise the named limit if it is configurable.",
  },
  blob_not_found: {
    status: 502,
    exit: 3,
    title: "An input does not exist",
    advice: "Check the URL or the path, and check that the previous step has written the input.",
  },
  blob_unavailable: {
    status: 502,
    exit: 3,
    title: "An input could not be read",
    advice: "The storage failed, also after retries. Try again later.",
  },
  unreadable_blob: {
    status: 422,
    exit: 3,
    title: "An input is truncated, damaged or not valid JSON",
    advice: "Write the input again. The message gives the position of the first error.",
  },
  invalid_data: {
    status: 422,
    exit: 3,
    title: "An input contains unusable data",
    advice: "Correct the input at the place that the message names.",
  },
  insufficient_history: {
    status: 422,
    exit: 3,
    title: "Too few rows to learn from",
    advice:
      "Provide earlier prices, a later learning end or features with fewer gaps. A ticker needs 30 fit rows. A network needs 30 training windows, and has more with a smaller lookback.",
  },
  sparse_prices: {
    status: 422,
    exit: 3,
    title: "Prices are too far apart to learn from",
    advice:
      "Provide daily or weekly prices. A label is the return to the next price, which must be at most 10 calendar days later.",
  },
  few_tickers: {
    status: 422,
    exit: 3,
    title: "Too few tickers to compare",
    advice:
      "Add tickers, or use a config that compares none, without `target` relative and `cross_section`, such as the example ridge.",
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
    advice: "Extend the blob that ends early to the last price date.",
  },
  fit_failed: {
    status: 422,
    exit: 3,
    title: "A fit failed",
    advice: "See the message. If each ticker has its own model, the other tickers continue.",
  },
  device_unavailable: {
    status: 422,
    exit: 3,
    title: "The requested device is not available",
    advice: "Use the CPU, or run on a machine that has the device.",
  },
  engine_unavailable: {
    status: 500,
    exit: 4,
    title: "The engine is not installed, or its cluster cannot be used",
    advice:
      "Run `mucast setup` (`mucast setup --dl` for run_dl_job, `mucast setup --ray` for a cluster), or set MUCAST_PYTHON to a ready interpreter. For a cluster, follow the message and check the cluster with `mucast doctor --engine <url>`.",
  },
  engine_crashed: {
    status: 500,
    exit: 4,
    title: "Engine processes died",
    advice:
      "The message names the signal. After SIGKILL, check the memory of the machine. After SIGSEGV or SIGABRT, a library failed: change the model parameters or the data of the named ticker.",
  },
  out_of_memory: {
    status: 500,
    exit: 4,
    title: "The job exceeded its memory limit",
    advice:
      "Raise the limit (MUCAST_MEMORY_BYTES), run fewer jobs at a time, use fewer workers, or make the job smaller with fewer tickers, rows or features.",
  },
  output_failed: {
    status: 502,
    exit: 3,
    title: "The result could not be written",
    advice:
      "Check free space and permissions at the named location, which is the output or the work folder. No partly written output remains.",
  },
  tracking_failed: {
    status: 502,
    exit: 3,
    title: "The run could not be recorded at the tracker",
    advice:
      "Follow the message, then run `mucast export --output <output> --mlflow`, which completes a run that was begun.",
  },
  quota_exceeded: {
    status: 507,
    exit: null,
    title: "The caller has reached a storage quota",
    advice:
      "Delete blobs that you no longer need (DELETE /data/{name}), or ask the operator to raise the named quota.",
  },
  storage_full: {
    status: 507,
    exit: null,
    title: "The storage is full",
    advice: "Nothing was stored. Try again when the operator has freed space.",
  },
  storage_failed: {
    status: 502,
    exit: null,
    title: "Writing to the storage failed",
    advice:
      "Nothing has changed. Try again later, or ask the operator to check the permissions of the storage.",
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
    advice: "No output was written. If this was not intended, submit the job again.",
  },
  diverged: {
    status: 422,
    exit: 3,
    title: "The loss is not finite or far too large",
    advice:
      "Lower the learning rate or clip gradients. If each ticker has its own network, the other tickers continue.",
  },
  constant_target: {
    status: 422,
    exit: 3,
    title: "All training labels are equal",
    advice: "There is nothing to learn for this ticker. Check its prices.",
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
    title: "Not allowed with these credentials",
    advice: "Ask the operator for the required scope.",
  },
  not_found: {
    status: 404,
    exit: null,
    title: "Not found",
    advice: "Check the URL and the id. Ended operations are kept only for a limited time.",
  },
  no_result: {
    status: 409,
    exit: null,
    title: "The operation has no result",
    advice: "Get the operation. If it is NotStarted or Running, wait for it; otherwise read its error.",
  },
  other_result: {
    status: 409,
    exit: null,
    title: "The operation has a different kind of result",
    advice:
      "For run_ml_job and run_dl_job, get the forecast or the report (get_forecast, get_report). For an audit or a replay, get the verdict (get_verdict).",
  },
  method_not_allowed: {
    status: 405,
    exit: null,
    title: "The method is not allowed here",
    advice: "Use a method that the Allow header lists.",
  },
  idempotency_conflict: {
    status: 422,
    exit: null,
    title: "The idempotency key was used for another request",
    advice: "Use a new key for a different body.",
  },
  blob_in_use: {
    status: 409,
    exit: null,
    title: "The blob is in use",
    advice: "Wait until the named operations have ended, or cancel them.",
  },
  precondition_failed: {
    status: 412,
    exit: null,
    title: "The blob has a different version",
    advice: "Read the blob again and decide by its current content.",
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
    title: "The range is outside the blob",
    advice: "Request a range within the size that Content-Range gives.",
  },
  rate_limited: {
    status: 429,
    exit: null,
    title: "Too many requests",
    advice: "Try again after the time in the Retry-After header.",
  },
  execution_lost: {
    status: 500,
    exit: null,
    title: "The job was lost too often",
    advice:
      "See the message for the causes. If SIGKILL ended a process, check the memory of the machine or container. If the service was killed, give it more time to stop. Then submit the job again.",
  },
  process_lost: {
    status: 500,
    exit: null,
    title: "The process that handled the request died",
    advice:
      "Try again in a minute. If the process dies again, check the memory of the machine, or use `mucast report` and `mucast prepare`.",
  },
  unavailable: {
    status: 503,
    exit: 3,
    title: "The service cannot accept work now",
    advice: "Follow the message. If it does not say what to do, try again later.",
  },
  cannot_listen: {
    status: 503,
    exit: 3,
    title: "The service cannot listen on its address",
    advice: "Use a different --port (0 picks a free one) or --host, or end the process that listens there.",
  },
  internal: {
    status: 500,
    exit: 1,
    title: "A bug in mucast",
    advice: "Report it with the message and the steps to reproduce it.",
  },
} as const satisfies Record<string, ErrorEntry>;

export interface ErrorEntry {
  readonly status: number;
  /** Null for errors that only the service has, which end no process. */
  readonly exit: number | null;
  readonly title: string;
  readonly advice: string;
}

export type ErrorCode = keyof typeof ERROR_TABLE;

/** In place of the title and the advice of an error about a file of another kind, which may be whole and valid. */
export const NOT_AN_OUTPUT = {
  title: "The document is not an output of a job",
  advice:
    "Give an output of run_ml_job or run_dl_job: the result of a job names it, and `mucast list` shows the outputs in a folder.",
};

export const NOT_A_VERDICT = {
  title: "The document is not the expected verdict",
  advice:
    "Give what `mucast replay` or `mucast audit` has printed or written, each to the option of its name.",
};

export const NOT_A_TABLE = {
  title: "The file is neither CSV nor Parquet",
  advice: "Give an input blob to the job as it is; save other tables as CSV or Parquet.",
};
