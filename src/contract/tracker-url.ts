import { isLoopbackName } from "./machine/loopback.ts";

/** The variables that name a tracker and its credentials; MLflow's own clients read the same. */
export const TRACKER_VARIABLES = {
  url: "MLFLOW_TRACKING_URI",
  experiment: "MLFLOW_EXPERIMENT_NAME",
  token: "MLFLOW_TRACKING_TOKEN",
  username: "MLFLOW_TRACKING_USERNAME",
  password: "MLFLOW_TRACKING_PASSWORD",
} as const;

export const DEFAULT_EXPERIMENT = "mucast";

/** The limit of MLflow. */
export const MAX_EXPERIMENT_NAME = 500;

const EXAMPLE = "must be the http or https URL of an MLflow server, such as https://mlflow.example.com";
const MAX_LENGTH = 1_000;

/** The fault of a tracker's URL; undefined if it is valid. Shows no password and no query string. */
export function trackerUrlFault(text: string): string | undefined {
  const url = text.length <= MAX_LENGTH && URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") return EXAMPLE;
  if (`${url.username}${url.password}` !== "") {
    return `${EXAMPLE}, without a user name and a password: set ${TRACKER_VARIABLES.username} and ${TRACKER_VARIABLES.password}, or ${TRACKER_VARIABLES.token}`;
  }
  return `${url.search}${url.hash}` === "" ? undefined : `${EXAMPLE}, without a query string or a fragment`;
}

/** Whether credentials would cross a network unencrypted. @param url a valid one. */
export function exposesCredentials(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopbackName(hostname);
}
