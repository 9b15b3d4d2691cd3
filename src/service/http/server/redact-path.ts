import { redactUrl } from "../../../blob/policy.ts";

/** The text after it is the token of a link: the path may have the folder of a proxy before it. */
const SECRET_PATH = /((?:\/|%2f)reports(?:\/|%2f)+).+/i;
/** As long as a token, whatever is before and after it, with or without percent-encoding. */
const LONG_TEXT = /(?:%[0-9a-f]{2}|[\w-]){43,}/gi;

/**
 * A path that has no route, without its query and without anything that may be the token of a link to a report: a pasted link can be
 * misspelt or have more text around it.
 */
export function redactPath(url: string): string {
  return redactUrl(url).replace(SECRET_PATH, "$1…").replaceAll(LONG_TEXT, "…");
}
