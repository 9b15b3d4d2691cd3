import type { Caller } from "../operations.ts";

/**
 * Finds out who asks from the `Authorization` header of a request.
 *
 * @throws MucastError unauthorized where that does not say it; unavailable where it cannot be found out now.
 */
export type Authenticate = (authorization: string | undefined) => Promise<Caller>;

/** The subject of everyone where nobody has to say who they are, and of the commands on the same machine. */
export const LOCAL_SUBJECT = "local";
