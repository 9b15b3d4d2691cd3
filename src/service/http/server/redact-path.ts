import { redactUrl } from "../../../blob/policy.ts";

/** The text after it is the token of a link, perhaps in a path without a route: misspelt, or prefixed with the folder of a proxy. */
const SECRET_PATH = /((?:\/|%2f)reports(?:\/|%2f)+).+/i;

/** A token without `reports` before it, in a path that has lost or misspelt the word: 32 bytes in base64url. */
const TOKEN = /(?<=\/|%2f)[\w-]{43}(?=\/|%2f|$)/gi;

/** The path of a request's URL for logs: without the query, and without the token of a link to a report. */
export function redactPath(url: string): string {
  return redactUrl(url).replace(SECRET_PATH, "$1…").replaceAll(TOKEN, "…");
}
