import { MucastError } from "../../contract/errors/errors.ts";
import { nearestName } from "../../contract/errors/nearest-name.ts";

/**
 * The entry of a table that an argument names.
 * @param kind what the entries are, such as `schema`.
 * @throws MucastError invalid_request, with the nearest name, if the table has no such entry.
 */
export function entryNamed<T>(kind: string, name: string, entries: ReadonlyMap<string, T>): T {
  const entry = entries.get(name);
  if (entry !== undefined) return entry;
  const accepted = [...entries.keys()];
  const suggestion = nearestName(name, accepted);
  throw new MucastError(
    "invalid_request",
    `there is no ${kind} ${JSON.stringify(name)}; the names are ${accepted.join(", ")}`,
    { path: "name", value: name, accepted, ...(suggestion === undefined ? {} : { suggestion }) },
  );
}
