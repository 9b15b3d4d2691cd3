import { createHash } from "node:crypto";
import { LOCAL_SUBJECT } from "./auth/authenticate.ts";

const KEY_SUBJECT = /^key:[0-9a-f]{16}$/;

/**
 * The space of a caller in the storage: `key-<id>` of an API key, `sub-<SHA-256>` of any other subject, whose text may
 * be anything; empty, the storage itself, where callers have no names. No two subjects share one.
 */
export function spaceOf(subject: string): string {
  if (subject === LOCAL_SUBJECT) return "";
  if (KEY_SUBJECT.test(subject)) return subject.replace(":", "-");
  // Not UTF-8, in which all halves of a surrogate pair are alike.
  return `sub-${createHash("sha256").update(Buffer.from(subject, "utf16le")).digest("hex")}`;
}
