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

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The tracker of an environment; undefined if `MLFLOW_TRACKING_URI` is blank. A user name with a password takes precedence over a token,
 * as in MLflow's own clients.
 * @throws MucastError invalid_request, without the values of secrets: for a URL that is not an MLflow server's, for credentials that
 *   cannot be sent, or that would cross a network unencrypted.
 */
export function trackerOf(env: Environment): Tracker | undefined {
  const text = env[TRACKER_VARIABLES.url]?.trim() ?? "";
  if (text === "") return undefined;
  const fault = trackerUrlFault(text);
  if (fault !== undefined) throw invalidRequest([{ path: TRACKER_VARIABLES.url, message: fault }]);
  const experiment = env[TRACKER_VARIABLES.experiment]?.trim() || DEFAULT_EXPERIMENT;
  if (experiment.length > MAX_EXPERIMENT_NAME) {
    const message = `must have at most ${MAX_EXPERIMENT_NAME} characters`;
    throw invalidRequest([{ path: TRACKER_VARIABLES.experiment, message }]);
  }
  const url = new URL(text).href.replace(/\/+$/, "");
  return { url, experiment, ...credentialsOf(env, url) };
}

function credentialsOf(env: Environment, url: string): Pick<Tracker, "authorization" | "secrets"> {
  const { username, password, token } = TRACKER_VARIABLES;
  const basic = env[username] && env[password] ? `${env[username]}:${env[password]}` : undefined;
  const bearer = env[token]?.trim();
  if (basic === undefined && !bearer) return { authorization: undefined, secrets: [] };
  const used = basic === undefined ? token : password;
  if (exposesCredentials(url)) {
    const message = `is only sent over https, or to this machine: use the https URL of the server in ${TRACKER_VARIABLES.url}`;
    throw invalidRequest([{ path: used, message }]);
  }
  if (basic !== undefined) {
    const encoded = Buffer.from(basic).toString("base64");
    return { authorization: `Basic ${encoded}`, secrets: [...spellings(env[password]!), encoded] };
  }
  if (!/^[\x21-\x7e]+$/.test(bearer!)) {
    const message = "has a character that no HTTP header may have; its value is not shown";
    throw invalidRequest([{ path: token, message }]);
  }
  return { authorization: `Bearer ${bearer}`, secrets: spellings(bearer!) };
}

/** A secret, and how a server may write it in a URL or in JSON. */
function spellings(secret: string): string[] {
  return [
    ...new Set([secret, encodeURIComponent(secret.toWellFormed()), JSON.stringify(secret).slice(1, -1)]),
  ];
}
