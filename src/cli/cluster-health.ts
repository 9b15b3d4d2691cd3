/**
 * The environment variables by which Ray finds out that a node is lost, with the values of the image and of docs/cluster.md. With Ray's
 * defaults, the tasks of a killed node wait up to 15 s, and those of a node that is frozen or cut off about 14 minutes.
 */
export const HEALTH_VARIABLES: Readonly<Record<string, string>> = {
  RAY_health_check_period_ms: "1000",
  RAY_health_check_timeout_ms: "3000",
  RAY_health_check_failure_threshold: "5",
  RAY_grpc_client_keepalive_time_ms: "10000",
  RAY_grpc_client_keepalive_timeout_ms: "15000",
};

/** Names each of these variables that has another value on the head of a cluster. */
export function healthLines(variables: Readonly<Record<string, string>>): string[] {
  const others = Object.entries(HEALTH_VARIABLES).filter(([name, value]) => variables[name] !== value);
  if (others.length === 0) return [];
  return [
    "health  Ray may notice late that a node is lost, because the head has other values than docs/cluster.md:",
    ...others.map(
      ([name, value]) => `        ${name} is ${variables[name] ?? "not set"} instead of ${value}`,
    ),
  ];
}
