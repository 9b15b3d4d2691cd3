import { ApiFault, type FaultKind } from "../polling/api-fault.ts";

/** The fields of the SDK's errors that this file reads. */
interface SdkError {
  readonly name?: string;
  readonly message?: string;
  readonly code?: string;
  readonly statusCode?: number;
  readonly response?: { readonly headers?: { get(name: string): string | undefined } };
}

/** Errors of @azure/identity: there is no token, so nothing was sent. */
const CREDENTIAL_ERRORS = [
  "AuthenticationError",
  "AggregateAuthenticationError",
  "AuthenticationRequiredError",
  "CredentialUnavailableError",
];

/** @returns the fault behind `error`, which the SDK threw. */
export function faultOf(error: unknown): ApiFault {
  if (error instanceof ApiFault) return error;
  const { name, message, code, statusCode, response } = error as SdkError;
  const text = redactUrls(message ?? String(error));
  if (CREDENTIAL_ERRORS.includes(name ?? "")) return new ApiFault("denied", `no credentials: ${text}`);
  const status = statusCode ?? 0;
  const summary = [status || name, code, text].filter((part) => part !== undefined && part !== "").join(" ");
  return new ApiFault(kindOf(status), summary, retryAfter(response?.headers?.get("retry-after")));
}

function kindOf(status: number): FaultKind {
  if (status === 404) return "missing";
  if (status === 429) return "throttled";
  if (status === 401 || status === 403) return "denied";
  // 408: Azure stopped waiting, as a gateway does. That is as inconclusive as a 5xx or no status at all.
  return status >= 400 && status < 500 && status !== 408 ? "refused" : "transient";
}

/** The longest wait that is granted to Azure. */
const MAX_RETRY_AFTER_MS = 600_000;

/** The wait in milliseconds that `Retry-After` requests, in seconds or as a date. */
function retryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

// Azure's message may quote the request, which can contain a SAS among its URLs with any spelling of the ampersand.
const SECRETS = /((?:sig|accountkey|password|secret|token)(?:=|%3d)|bearer\s+)[^&;#\s"'<>\\]+/gi;

function redactUrls(text: string): string {
  const line = text.replaceAll(SECRETS, "$1…").replaceAll(/\s+/g, " ").trim();
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}
