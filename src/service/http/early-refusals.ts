import { MucastError } from "../../contract/errors/errors.ts";

/**
 * What is refused before a route is chosen, whatever the request asks for, by the closest status that HTTP has. The
 * OpenAPI document names each of them for every operation.
 */
const REFUSALS = {
  408: { path: "headers", detail: "the headers came too slowly" },
  417: { path: "Expect", detail: "the only expectation that can be met is 100-continue" },
  431: { path: "headers", detail: "the URL and the headers together are longer than 16 KiB" },
} as const;

export type EarlyStatus = keyof typeof REFUSALS;

export const EARLY_STATUSES = Object.keys(REFUSALS).map(Number) as EarlyStatus[];

/** @returns an invalid_request with that status. */
export function earlyRefusal(status: EarlyStatus): MucastError {
  const { path, detail } = REFUSALS[status];
  return new MucastError("invalid_request", detail, { path, status });
}
