import { invalidRequest } from "../contract/errors/faults.ts";
import {
  DEFAULT_EXPERIMENT,
  exposesCredentials,
  MAX_EXPERIMENT_NAME,
  TRACKER_VARIABLES,
  trackerUrlFault,
} from "../contract/tracker-url.ts";

/** An MLflow server, as its operator names it. */
export interface Tracker {
  /** http or https, without a final slash, query string or password. It may have a path. */
  readonly url: string;
  /** Name of the experiment. */
  readonly experiment: string;
  /** Value of the Authorization header; secret. */
  readonly authorization: string | undefined;
  /** The texts that no message may show. */
  readonly secrets: readonly string[];
}

/**
 * The tracker of an environment; undefined if `MLFLOW_TRACKING_URI` is blank. A user name with a password takes precedence over a token,
 * as in MLflow's own clients.
 * @throws MucastError invalid_request, without the values of secrets: for a URL that is not an MLflow server's, for credentials that
 *   cannot be sent, or that would cross a network unencrypted.
 */
export function trackerOf(env: Readonly<Record<string, string | undefined>>): Tracker | undefined {
  const names = TRACKER_VARIABLES;
  const check = (path: string, fault: string | undefined) => {
    if (fault !== undefined) throw invalidRequest([{ path, message: fault }]);
  };
  const text = env[names.url]?.trim() ?? "";
  if (text === "") return undefined;
  check(names.url, trackerUrlFault(text));
  const url = new URL(text).href.replace(/\/+$/, "");
  const experiment = env[names.experiment]?.trim() || DEFAULT_EXPERIMENT;
  const isLong = experiment.length > MAX_EXPERIMENT_NAME;
  check(names.experiment, isLong ? `must have at most ${MAX_EXPERIMENT_NAME} characters` : undefined);
  const [user, password, token] = [env[names.username], env[names.password], env[names.token]?.trim()];
  const isBasic = Boolean(user && password);
  const secret = isBasic ? password : token;
  if (!secret) return { url, experiment, authorization: undefined, secrets: [] };
  const unencrypted = `is only sent over https, or to this machine: use the https URL of the server in ${names.url}`;
  check(isBasic ? names.password : names.token, exposesCredentials(url) ? unencrypted : undefined);
  const encoded = isBasic ? Buffer.from(`${user}:${password}`).toString("base64") : secret;
  const isHeader = /^[\x21-\x7e]+$/.test(encoded);
  const odd = "has a character that no HTTP header may have; its value is not shown";
  check(names.token, isHeader ? undefined : odd);
  // A server may repeat a secret, as it is or as it stands in a URL or in JSON.
  const spellings = [secret, encodeURIComponent(secret.toWellFormed()), JSON.stringify(secret).slice(1, -1)];
  const authorization = `${isBasic ? "Basic" : "Bearer"} ${encoded}`;
  return { url, experiment, authorization, secrets: [...new Set([...spellings, encoded])] };
}
