import { AsyncLocalStorage } from "node:async_hooks";

/** On whose behalf work is done. Everything that the work awaits has the same scope. */
export interface RequestScope {
  /** The caller, or the address of an unknown one. */
  readonly lane: string;
  /** Aborts when the connection of the request closes; undefined for work that finishes without its caller. */
  readonly signal: AbortSignal | undefined;
}

const scopes = new AsyncLocalStorage<RequestScope>();

/** Runs the work of a request. */
export function inScope<T>(scope: RequestScope, work: () => T): T {
  return scopes.run(scope, work);
}
