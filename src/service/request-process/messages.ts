import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import type { ErrorData } from "../../contract/errors/errors.ts";
import type { PreparedBlobs, PrepareOptions } from "../../prepare/prepare-prices.ts";
import type { StorageAccess } from "../blobs/open-storage.ts";
import type { RequestKind } from "../telemetry/telemetry.ts";

/** The report of one output, or of several side by side. */
export interface ReportOrder {
  readonly kind: Extract<RequestKind, "report">;
  readonly storage: StorageAccess;
  /** The space of each output's caller, its name, and the version to read. */
  readonly outputs: readonly { readonly space: string; readonly name: string; readonly etag: string }[];
}

/** The name of the body of a request in its folder. */
export const BODY_NAME = "body";

/** The preparation of prices. */
export interface PrepareOrder {
  readonly kind: Extract<RequestKind, "prepare">;
  /** Has the body, and takes the blobs. */
  readonly folder: string;
  /** The Content-Type of the body if it is multipart/form-data; otherwise the body is the file of prices. */
  readonly multipartType?: string | undefined;
  readonly options: PrepareOptions;
  /** Maximum bytes of each file, decompressed. */
  readonly csvBytes: number;
  /** Maximum bytes of each blob. */
  readonly blobBytes: number;
  /** Maximum number of tickers in each file. */
  readonly tickers: number;
}

/** The answer of a preparation. */
export interface PreparedFiles extends Pick<PreparedBlobs, "id" | "dates" | "start" | "end" | "features"> {
  readonly learningEnd?: string;
  /** The first ones. */
  readonly tickers: readonly string[];
  readonly tickerCount: number;
  /** In words, the first ones. */
  readonly warnings: readonly string[];
  readonly warningCount: number;
  readonly files: { readonly prices: PreparedFile; readonly features: PreparedFile };
}

/** A blob as a file. */
export interface PreparedFile {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** The run of one output at the tracker. */
export interface TrackOrder {
  readonly kind: Extract<RequestKind, "track">;
  readonly storage: StorageAccess;
  readonly space: string;
  readonly name: string;
  /** Maximum duration of the requests to the tracker. */
  readonly seconds: number;
}

export type RequestOrder = ReportOrder | PrepareOrder | TrackOrder;

/** The only message to a process of a request. */
export interface ToRequest {
  readonly order: RequestOrder;
  /** Maximum bytes of its answer. */
  readonly answerBytes: number;
}

/** What such a process sends to the service: its answer, or why there is none. */
export type FromRequest =
  | { readonly event: "answer"; readonly bytes: Uint8Array }
  | { readonly event: "failed"; readonly code: ErrorCode; readonly text: string; readonly data: ErrorData };

/** What each kind of process does, for errors. */
export const WORK_WORDS: Readonly<Record<RequestKind, string>> = {
  prepare: "prepare the blobs",
  report: "draw the report",
  track: "record the run",
};
