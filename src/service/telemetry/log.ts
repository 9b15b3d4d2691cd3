/**
 * Lines of the service's log. Fields stand beside the message, an error under `err`; a URL among them loses its query
 * string, and what is secret is hidden, but nobody should count on it: log names and numbers, not requests.
 */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A log each line of which has these fields too. */
  child(fields: object): Log;
}

/** A log each line of which tells the operation it is about. */
export function operationLog(log: Log, id: string): Log {
  return log.child({ operation_id: id });
}

/** Hears everything and says nothing, for tests. */
export const noLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => noLog,
};
