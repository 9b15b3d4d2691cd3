import type { Settings } from "../../contract/settings.ts";
import type { Authenticate } from "../auth/authenticate.ts";
import type { KeyStore } from "../auth/key-store.ts";
import type { Blobs } from "../blobs.ts";
import type { Operations } from "../operations.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** One thing the service needs to do its work: `data_folder`, `database`, `storage`, `accepting`. */
export interface ReadyCheck {
  readonly name: string;
  readonly ok: boolean;
  /** What is wrong, without secrets. */
  readonly message?: string | undefined;
}

/** What HTTP stands on. */
export interface HttpOptions {
  readonly settings: Settings;
  readonly operations: Operations;
  readonly blobs: Blobs;
  readonly authenticate: Authenticate;
  /** The operator's own, of the lock file. */
  readonly localToken?: string | undefined;
  readonly keys: KeyStore;
  /** Milliseconds until a reader who takes nothing is given up; a minute by default. */
  readonly stallMilliseconds?: number | undefined;
  /** Milliseconds between two looks whether the key of an open stream is revoked; 15 s by default. */
  readonly lookMilliseconds?: number | undefined;
  /** Milliseconds that the headers of a request may take; 15 s by default. */
  readonly headersMilliseconds?: number | undefined;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "requestStarted" | "streamOpened" | "metrics" | "connectionRefused">;
  /** Looks at everything, at most every few seconds; never rejects. */
  ready(): Promise<readonly ReadyCheck[]>;
}
