export type { ForecastView } from "../contract/api/forecast-view.ts";
export type { EpochPoint, Epochs } from "../contract/api/job-events.ts";
export type {
  Operation,
  OperationPage,
  OperationStatus,
  OperationView,
} from "../contract/api/operation-view.ts";
export type { Snapshot, StoredEvent } from "../contract/api/stored-event.ts";
export type { ErrorCode } from "../contract/errors/error-codes.ts";
export type { Fault } from "../contract/errors/errors.ts";
export type { Problem } from "../contract/errors/problem.ts";
export type { OutputBlob } from "../contract/output/output-blob.ts";
export type { ResultRecord } from "../contract/output/result-record.ts";
export { MucastApiError } from "./api-error.ts";
export {
  type BlobResponse,
  type CallOptions,
  type ForecastOptions,
  type ListOptions,
  MucastClient,
  type SubmitOptions,
} from "./client.ts";
export type { ClientOptions } from "./connection.ts";
export type { FollowOptions } from "./follow-events.ts";
export type { JobPayload } from "./payload.ts";
export { readOutput } from "./read-output.ts";
export type { RunOptions, SucceededOperation } from "./run-and-wait.ts";
