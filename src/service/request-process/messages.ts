import type { BlobPolicy } from "../../blob/policy.ts";
import type { ErrorData } from "../../contract/errors/errors.ts";

/** The storage as a process opens it by itself, so that no byte of a blob goes through the service. */
export interface StorageAccess {
  /** As `openStore` takes it; may carry a SAS. */
  readonly blobUrl: string;
  readonly policy: BlobPolicy;
}

/** The report of one output. */
export interface ReportOrder {
  readonly kind: "report";
  readonly storage: StorageAccess;
  /** Where the output lies: the space of its caller, its name, and the version that is to be read. */
  readonly space: string;
  readonly name: string;
  readonly etag: string;
}

/** What a process is asked to do: one JSON line on its stdin, which stays open as long as the service lives. */
export type RequestOrder = ReportOrder;

export const REQUEST_KINDS = ["report"] as const satisfies readonly RequestOrder["kind"][];
export type RequestKind = (typeof REQUEST_KINDS)[number];

/** The first line of an answer. After it come `bytes` bytes: the whole answer, or none where there is an error. */
export type AnswerHead =
  | { readonly bytes: number }
  | { readonly error: { readonly code: string; readonly message: string; readonly data: ErrorData } };

/** The descriptor to which the process writes its answer. */
export const ANSWER_DESCRIPTOR = 3;
