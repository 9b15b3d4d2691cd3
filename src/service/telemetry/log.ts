import { constants, fstatSync, openSync } from "node:fs";
import pino from "pino";
import { MucastError } from "../../contract/errors/errors.ts";

/** An error is the field `err`. The log hides secrets, but callers must not rely on that: log names and numbers, not requests. */
export type Log = Readonly<
  Record<"debug" | "info" | "warn" | "error", (fields: object, message: string) => void>
>;

interface LogOptions {
  readonly level: "trace" | "debug" | "info" | "warn" | "error";
  readonly secrets?: readonly string[];
  readonly destination: { write(line: string): void };
}

/** Opens the log: JSON lines, each with `time` (UTC), `level`, `pid`, `hostname`, `msg` and the fields given. */
export function openLog({ level, secrets = [], destination }: LogOptions): Log {
  return pino(
    {
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => describe(error) },
      hooks: { streamWrite: secretHider(secrets) },
    },
    destination,
  );
}

/** An error without its other properties: a database's error contains rows, an HTTP client's error its request. */
function describe(error: unknown, depth = 0): object {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { name, message, stack, cause } = error;
  // It needs no stack.
  const isExpected = error instanceof MucastError && error.code !== "internal";
  return {
    type: name,
    message,
    code: "code" in error && error.code !== undefined ? String(error.code) : undefined,
    path: isExpected ? error.data.path : undefined,
    stack: isExpected ? undefined : stack,
    cause: cause === undefined || depth === 4 ? undefined : describe(cause, depth + 1),
  };
}

/** Bytes of lines that wait for a slow reader or for room on the disk. */
const MAX_WAITING_BYTES = 2 ** 20;

/** A line is written at once, so that a crash loses none. If it is refused (full disk, stopped reader), it waits in bounded memory. */
export function openLogDestination(descriptor: number, onLost: (lines: number) => void = () => undefined) {
  let lost = 0;
  let reported = 0;
  const destination = pino.destination({
    dest: openNonBlocking(descriptor),
    sync: true,
    maxLength: MAX_WAITING_BYTES,
    retryEAGAIN: () => false,
  });
  destination.on("drop", () => {
    lost++;
    // pino drops a line without trying to write those that wait.
    destination.write("");
  });
  destination.on("drain", () => {
    const dropped = lost - reported;
    reported = lost;
    if (dropped > 0) onLost(dropped);
  });
  // The line waits.
  destination.on("error", () => undefined);
  return {
    write: (line: string) => void destination.write(line),
    get lost(): number {
      return lost;
    },
  };
}

/** A stopped reader then gives EAGAIN. Other processes may share the descriptor, so the pipe is reopened. */
function openNonBlocking(descriptor: number): number {
  try {
    if (!fstatSync(descriptor).isFIFO()) return descriptor;
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return descriptor;
  }
}

const HIDDEN = "…";

/** Shorter texts are not hidden: they are not secrets, and would be replaced in every line. */
const MIN_SECRET_LENGTH = 8;

/** A URL and all that follows it without a space or a quote. A pattern that requires a mark at its end would take quadratic time. */
const URLS = /\b([a-z][a-z0-9+.-]{1,20}:\/\/)([^\s"\\<>]*)/gi;

function hideInUrls(text: string): string {
  return text.replace(URLS, (_url, scheme: string, rest: string) => {
    const at = rest.lastIndexOf("@");
    const shown = at < 0 ? rest : `${HIDDEN}${rest.slice(at)}`;
    return `${scheme}${shown}`.replace(/\?[^']*/g, `?${HIDDEN}`);
  });
}

const RULES: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\?[\w.~%$-]+=[^\s"'\\<>]*/g, `?${HIDDEN}`],
  // Pairs of connection strings, of signatures, of forms.
  [
    /\b(AccountKey|SharedAccessKey|SharedAccessSignature|Password|Pwd|client_secret|sig|X-Amz-Signature|X-Amz-Security-Token)(=|%3D)[^;&\s"'\\<>]*/gi,
    `$1$2${HIDDEN}`,
  ],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, `$1 ${HIDDEN}`],
  // Also as part of a name, such as feature_engine_<key>.json.
  [/mucast_([0-9a-f]{16})_[\w-]{20,}/g, `mucast_$1_${HIDDEN}`],
  [/(\/reports\/)[\w-]{20,}/gi, `$1${HIDDEN}`],
  [/\bwhsec_[\w+/=]+/g, `whsec_${HIDDEN}`],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, HIDDEN],
];

/** Hides credentials by their patterns, queries of URLs, and the `known` secrets everywhere. The line stays JSON. */
export function secretHider(known: readonly string[]): (line: string) => string {
  const texts = known
    .flatMap((secret) => [secret, ...passwordsIn(secret)])
    .filter((text) => text.length >= MIN_SECRET_LENGTH)
    .map((text) => JSON.stringify(text).slice(1, -1))
    .sort((a, b) => b.length - a.length);
  return (line) => {
    const shown = hideInUrls(texts.reduce((text, secret) => text.replaceAll(secret, HIDDEN), line));
    return RULES.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), shown);
  };
}

/** The password in a database URL and the keys in a connection string, which may appear alone. */
function passwordsIn(secret: string): string[] {
  const keys = [...secret.matchAll(/(?:AccountKey|SharedAccessSignature)=([^;]*)/gi)].map(([, key]) => key!);
  if (!URL.canParse(secret)) return keys;
  const { password } = new URL(secret);
  return [...keys, password, decode(password)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
