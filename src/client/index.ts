export type { ForecastView } from "../contract/api/forecast-view.ts";
export type { JobPreview } from "../contract/api/job-preview.ts";
export type {
  OperationPage,
  OperationStatus,
  OperationView,
  ReportLink,
  VerdictView,
} from "../contract/api/operation-view.ts";
export type { BlobPage, PreparedBlobs, StoredBlobView } from "../contract/api/prepared-blobs.ts";
export type { QueueView } from "../contract/api/queue-view.ts";
export type { Snapshot, StoredEvent } from "../contract/api/stored-event.ts";
export type { Operation, SubmittedOperation } from "../contract/config/job-operations.ts";
export type { ErrorCode } from "../contract/errors/error-codes.ts";
export type { Fault } from "../contract/errors/errors.ts";
export type { AuditBlob } from "../contract/output/audit-blob.ts";
export type { EpochPoint, Epochs } from "../contract/output/job-events.ts";
export type { OutputBlob } from "../contract/output/output-blob.ts";
export type { ReplayBlob } from "../contract/output/replay-blob.ts";
export type { ResultRecord } from "../contract/output/result-record.ts";
export type { Problem } from "../contract/problems/problem.ts";
export { MucastApiError } from "./api-error.ts";
export { type BlobResponse, MucastClient, type SucceededOperation } from "./client.ts";
export type { ClientOptions } from "./connection.ts";
export type { FollowOptions } from "./follow-events.ts";
export type {
  BlobListOptions,
  BlobReadOptions,
  BlobWriteOptions,
  CallOptions,
  ForecastOptions,
  ListOptions,
  PrepareOptions,
  RunOptions,
  SubmitOptions,
} from "./options.ts";
export type { AuditPayload, JobPayload, PayloadOf, ReplayPayload, ValidatePayload } from "./payload.ts";
export { readOutput } from "./read-output.ts";
