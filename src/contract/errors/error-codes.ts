export interface ErrorEntry {
  readonly status: number;
  /** Null for errors that only the service has, which end no process. */
  readonly exit: number | null;
  readonly title: string;
  readonly advice: string;
}

function row([status, exit]: [number, number | null], title: string, advice: string): ErrorEntry {
  return { status, exit, title, advice };
}

/**
 * The code of every error that a user can get; docs/errors.md is generated from it. `exit` is the exit code of the command line, `status`
 * the HTTP status of a refused request or the status inside the problem of a failed operation.
 */
export const ERROR_TABLE = {
  invalid_request: row([400, 2], "The payload or the config is invalid", "Correct what the message names."),
  unknown_model: row(
    [400, 2],
    "Unknown model",
    "Use one of the listed names. mucast never falls back to another model.",
  ),
  invalid_model_params: row(
    [400, 2],
    "Invalid model parameters",
    "Correct the named parameter. docs/model-params.md lists the accepted parameters.",
  ),
  url_not_allowed: row(
    [400, 2],
    "The URL is outside the allowed origins and containers",
    "Use a blob at an allowed URL, or ask the operator to add its origin to MUCAST_ALLOWED_BLOB_URLS.",
  ),
  too_large: row(
    [413, 2],
    "A limit is exceeded",
    "Make the input smaller, or raise the named limit if it is configurable.",
  ),
  blob_not_found: row(
    [502, 3],
    "An input does not exist",
    "Check the URL or the path, and check that the previous step has written the input.",
  ),
  blob_unavailable: row(
    [502, 3],
    "An input could not be read",
    "The storage failed, also after retries. Try again later.",
  ),
  unreadable_blob: row(
    [422, 3],
    "An input is truncated, damaged or not valid JSON",
    "Write the input again. The message gives the position of the first error.",
  ),
  invalid_data: row(
    [422, 3],
    "An input contains unusable data",
    "Correct the input at the place that the message names.",
  ),
  insufficient_history: row(
    [422, 3],
    "Too few rows to learn from",
    "Provide earlier prices, a later learning end or features with fewer gaps. A ticker needs 30 fit rows. A network needs 30 training windows, and has more with a smaller lookback.",
  ),
  sparse_prices: row(
    [422, 3],
    "Prices are too far apart to learn from",
    "Provide daily or weekly prices. A label is the return to the next price, which must be at most 10 calendar days later.",
  ),
  few_tickers: row(
    [422, 3],
    "Too few tickers to compare",
    "Add tickers, or use a config that compares none, without `target` relative and `cross_section`, such as the example ridge.",
  ),
  all_failed: row([422, 3], "Every ticker failed", "See `failures` for the reason of each ticker."),
  no_forecast: row(
    [422, 3],
    "No ticker has a current forecast",
    "Extend the blob that ends early to the last price date.",
  ),
  fit_failed: row(
    [422, 3],
    "A fit failed",
    "See the message. If each ticker has its own model, the other tickers continue.",
  ),
  device_unavailable: row(
    [422, 3],
    "The requested device is not available",
    "Use the CPU, or run on a machine that has the device.",
  ),
  engine_unavailable: row(
    [500, 4],
    "The engine is not installed, or its cluster cannot be used",
    "Run `mucast setup` (`mucast setup --dl` for run_dl_job, `mucast setup --ray` for a cluster), or set MUCAST_PYTHON to a ready interpreter. For a cluster, follow the message and check the cluster with `mucast doctor --engine <url>`.",
  ),
  engine_crashed: row(
    [500, 4],
    "Engine processes died",
    "The message names the signal. After SIGKILL, check the memory of the machine. After SIGSEGV or SIGABRT, a library failed: change the model parameters or the data of the named ticker.",
  ),
  out_of_memory: row(
    [500, 4],
    "The job exceeded its memory limit",
    "Raise the limit (MUCAST_MEMORY_BYTES), run fewer jobs at a time, use fewer workers, or make the job smaller with fewer tickers, rows or features.",
  ),
  output_failed: row(
    [502, 3],
    "The result could not be written",
    "Check free space and permissions at the named location, which is the output or the work folder. No partly written output remains.",
  ),
  tracking_failed: row(
    [502, 3],
    "The run could not be recorded at the tracker",
    "Follow the message, then run `mucast export --output <output> --mlflow`, which completes a run that was begun.",
  ),
  quota_exceeded: row(
    [507, null],
    "The caller has reached a storage quota",
    "Delete blobs that you no longer need (DELETE /data/{name}), or ask the operator to raise the named quota.",
  ),
  storage_full: row(
    [507, null],
    "The storage is full",
    "Nothing was stored. Try again when the operator has freed space.",
  ),
  storage_failed: row(
    [502, null],
    "Writing to the storage failed",
    "Nothing has changed. Try again later, or ask the operator to check the permissions of the storage.",
  ),
  timed_out: row([504, 5], "The time limit was reached", "Raise the limit or make the job smaller."),
  canceled: row(
    [499, 130],
    "The job was cancelled",
    "No output was written. If this was not intended, submit the job again.",
  ),
  diverged: row(
    [422, 3],
    "The loss is not finite or far too large",
    "Lower the learning rate or clip gradients. If each ticker has its own network, the other tickers continue.",
  ),
  constant_target: row(
    [422, 3],
    "All training labels are equal",
    "There is nothing to learn for this ticker. Check its prices.",
  ),
  unauthorized: row([401, null], "No valid credentials", "Send a valid key or token."),
  forbidden: row(
    [403, null],
    "Not allowed with these credentials",
    "Ask the operator for the required scope.",
  ),
  not_found: row(
    [404, null],
    "Not found",
    "Check the URL and the id. Ended operations are kept only for a limited time.",
  ),
  no_result: row(
    [409, null],
    "The operation has no result",
    "Get the operation. If it is NotStarted or Running, wait for it; otherwise read its error.",
  ),
  other_result: row(
    [409, null],
    "The operation has a different kind of result",
    "For run_ml_job and run_dl_job, get the forecast or the report (get_forecast, get_report). For an audit or a replay, get the verdict (get_verdict).",
  ),
  method_not_allowed: row(
    [405, null],
    "The method is not allowed here",
    "Use a method that the Allow header lists.",
  ),
  idempotency_conflict: row(
    [422, null],
    "The idempotency key was used for another request",
    "Use a new key for a different body.",
  ),
  blob_in_use: row(
    [409, null],
    "The blob is in use",
    "Wait until the named operations have ended, or cancel them.",
  ),
  precondition_failed: row(
    [412, null],
    "The blob has a different version",
    "Read the blob again and decide by its current content.",
  ),
  unsupported_media_type: row([415, null], "The media type is not supported", "Send application/json."),
  range_not_satisfiable: row(
    [416, null],
    "The range is outside the blob",
    "Request a range within the size that Content-Range gives.",
  ),
  rate_limited: row([429, null], "Too many requests", "Try again after the time in the Retry-After header."),
  execution_lost: row(
    [500, null],
    "The job was lost too often",
    "See the message for the causes. If SIGKILL ended a process, check the memory of the machine or container. If the service was killed, give it more time to stop. Then submit the job again.",
  ),
  process_lost: row(
    [500, null],
    "The process that handled the request died",
    "Try again in a minute. If the process dies again, check the memory of the machine, or use `mucast report` and `mucast prepare`.",
  ),
  unavailable: row(
    [503, 3],
    "The service cannot accept work now",
    "Follow the message. If it does not say what to do, try again later.",
  ),
  cannot_listen: row(
    [503, 3],
    "The service cannot listen on its address",
    "Use a different --port (0 picks a free one) or --host, or end the process that listens there.",
  ),
  internal: row([500, 1], "A bug in mucast", "Report it with the message and the steps to reproduce it."),
};

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
