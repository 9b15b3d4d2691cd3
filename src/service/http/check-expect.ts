import type { FastifyRequest } from "fastify";
import { earlyRefusal } from "./early-refusals.ts";

/**
 * Refuses an expectation other than `100-continue`, the only one that RFC 9110 knows.
 *
 * @throws MucastError invalid_request, with the status 417.
 */
export function checkExpect({ headers: { expect = "" } }: Pick<FastifyRequest, "headers">): void {
  const expectations = expect.split(",").map((item) => item.trim().toLowerCase());
  if (expectations.some((item) => item !== "" && item !== "100-continue")) throw earlyRefusal(417);
}
