import { AsyncLocalStorage } from "node:async_hooks";

/** On whose behalf work is done. Everything that the work awaits has the same scope. */
export interface RequestScope {
  /** The caller, or the address of an unknown one. Statements take turns by it. */
  readonly lane: string;
  /** Aborts when the connection of the request closes; undefined for work that finishes without its caller. */
  readonly signal: AbortSignal | undefined;
}

const scopes = new AsyncLocalStorage<RequestScope>();

/** The scope of the current work; undefined for work of the service itself. */
export function currentScope(): RequestScope | undefined {
  return scopes.getStore();
}

/** Runs the work of a request. */
export function inScope<T>(scope: RequestScope, work: () => T): T {
  return scopes.run(scope, work);
}

/** Runs a step of a request that must finish even if its caller has left, because a change is half made. */
export function withoutAbort<T>(work: () => T): T {
  const scope = scopes.getStore();
  return scope === undefined ? work() : scopes.run({ ...scope, signal: undefined }, work);
}

/** Runs work of the service itself that a request has triggered. */
export function outsideRequests<T>(work: () => T): T {
  return scopes.exit(work);
}
