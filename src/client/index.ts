export type { EpochPoint, Epochs } from "../contract/epoch-point.ts";
export type { ErrorCode } from "../contract/error-codes.ts";
export type { Fault } from "../contract/errors.ts";
export type { ForecastView } from "../contract/forecast-view.ts";
export type { Operation, OperationPage, OperationStatus, OperationView } from "../contract/operation-view.ts";
export type { OutputBlob } from "../contract/output-blob.ts";
export type { Problem } from "../contract/problem.ts";
export type { ResultRecord } from "../contract/result-record.ts";
export type { Snapshot, StoredEvent } from "../contract/stored-event.ts";
export { MucastApiError } from "./api-error.ts";
export {
  type CallOptions,
  type ForecastOptions,
  type ListOptions,
  MucastClient,
  type SubmitOptions,
} from "./client.ts";
export type { ClientOptions } from "./connection.ts";
export type { FollowOptions } from "./follow-events.ts";
export type { JobPayload } from "./payload-text.ts";
export { readOutput } from "./read-output.ts";
export type { RunOptions, SucceededOperation } from "./run-and-wait.ts";
