import { MucastError } from "../../contract/errors/errors.ts";

/** Of values that the caller can see: an ordinal would reveal how many operations others submit. */
export function cursorAfter(createdAt: Date, name: string): string {
  return Buffer.from(`${createdAt.getTime()} ${name}`).toString("base64url");
}

const CURSOR = /^(\d{1,13}) ([A-Za-z0-9_.-]{1,100})$/;

export function parseCursor(cursor: string) {
  const [, time, name] = CURSOR.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  if (name !== undefined) return { createdAt: new Date(Number(time)), name };
  const message = "cursor: is not one that a list gave; leave it out for the first page";
  throw new MucastError("invalid_request", message, { path: "cursor", value: cursor.slice(0, 100) });
}
