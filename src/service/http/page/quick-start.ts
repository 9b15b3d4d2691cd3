import { EXAMPLE_NAMES } from "../example-routes.ts";
import { EXAMPLE_BLOBS, ML_PAYLOAD } from "../operation-examples.ts";
import { curlLine } from "./curl-line.ts";

/** How to ask a service. */
export interface Asking {
  /** What comes before its paths. */
  readonly origin: string;
  /** Whether callers have to say who they are, by the variable MUCAST_KEY. */
  readonly hasCredentials: boolean;
}

const { config: CONFIG, ...URLS } = ML_PAYLOAD;

/** JSON with a line for each URL and one for the config. */
const PAYLOAD = `${JSON.stringify(URLS, null, 2).slice(0, -2)},\n  "config": ${JSON.stringify(CONFIG)}\n}`;

/** Lines for a POSIX shell that upload the two example blobs to a service, from itself. */
export function uploadLines({ origin, hasCredentials }: Asking): string[] {
  return EXAMPLE_NAMES.map((name) =>
    curlLine({
      method: "PUT",
      from: `${origin}/examples/${name}`,
      url: `${origin}/data/${name}`,
      hasCredentials,
    }),
  );
}

/** The line that then hands in a job on them. @param wait for its end, in seconds. */
export function submitLine({ origin, hasCredentials }: Asking, wait?: number): string {
  return curlLine({
    method: "POST",
    url: `${origin}/v1/run_ml_job`,
    body: PAYLOAD.replaceAll(EXAMPLE_BLOBS, origin),
    hasCredentials,
    ...(wait === undefined ? {} : { wait }),
  });
}
