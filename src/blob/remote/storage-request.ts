import { MucastError } from "../../contract/errors/errors.ts";
import { outputFailed } from "../blob-errors.ts";
import { isExpired } from "./remote-request.ts";

/** An answer of a storage that a retry cannot change. */
export class Refusal extends Error {
  readonly status: number;
  /** The storage's error code, such as `BlobNotFound` or `NoSuchKey`; empty if it is not one word. */
  readonly word: string;

  constructor(status: number, word: string) {
    const shown = /^[A-Za-z]{1,60}$/.test(word) ? word : "";
    const rights =
      "; the credentials (a key, SAS, signature or role) may be missing, expired, or without the right to it";
    const isAboutRights = status === 401 || status === 403 || isExpired(shown);
    super(`the storage answered ${status}${shown && ` ${shown}`}${isAboutRights ? rights : ""}`);
    this.status = status;
    this.word = shown;
  }
}

/** The purpose of a request, as an error message names it. */
export interface RequestContext {
  readonly doing: "reading" | "writing";
  readonly name: string;
  readonly signal?: AbortSignal | undefined;
}

/** The error for an operation that failed. */
export function failed({ doing, name }: RequestContext, reason: string): MucastError {
  if (doing === "writing") return outputFailed(name, reason);
  return new MucastError("blob_unavailable", `${name} cannot be read: ${reason}`, { source: name });
}
