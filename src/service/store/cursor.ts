import { MucastError } from "../../contract/errors/errors.ts";

/** What a caller sends back for the next page: it stands for the last operation of the page before. */
export function cursorOf(ordinal: string | number): string {
  return Buffer.from(`o${ordinal}`).toString("base64url");
}

/** @throws MucastError invalid_request for what cursorOf has not made. */
export function ordinalOf(cursor: string): string {
  const match = /^o(\d{1,18})$/.exec(Buffer.from(cursor, "base64url").toString("latin1"));
  if (match) return match[1]!;
  throw new MucastError(
    "invalid_request",
    "cursor: is not one that a list gave; leave it out for the first page",
    {
      path: "cursor",
      value: cursor.slice(0, 100),
    },
  );
}
