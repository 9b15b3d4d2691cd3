import type { WebhookTarget } from "../../contract/settings.ts";
import type { Queryable } from "../database/database.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";

/** What deliveries are made with. */
export interface DelivererParts {
  readonly database: Queryable;
  readonly targets: readonly WebhookTarget[];
  /** `source` of the events: the public URL of the service, or a URN. */
  readonly source: string;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "delivery">;
  readonly pace?: Pace;
}

/** How fast deliveries are looked for, given up and tried again. */
export interface Pace {
  readonly lookMilliseconds: number;
  readonly timeoutMilliseconds: number;
  /** At its end, what is under way may take this long. */
  readonly closeMilliseconds: number;
  /** Seconds until the next try, after so many. */
  readonly retryDelay: (tries: number) => number;
}
