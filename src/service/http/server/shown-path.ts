import { redactUrl } from "../../../blob/policy.ts";

/** What follows is the token of a link, perhaps in a path that no route has: misspelt, or with the folder of a proxy before it. */
const SECRET_PATH = /((?:\/|%2f)reports(?:\/|%2f)+).+/i;

/** The path of a request's URL as it may be shown: without query, and without the token of a link to a report. */
export function shownPath(url: string): string {
  return redactUrl(url).replace(SECRET_PATH, "$1…");
}
