/** A list gives its name once for each entry. */
export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** What follows the path of a URL: empty, or with its question mark. */
export function searchOf(query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value ?? []].flat()) search.append(name, String(item));
  }
  return search.size === 0 ? "" : `?${search}`;
}
