/** How the spelling of equal JSON differs between two texts. */
export interface Spelling {
  /** Numbers, strings and keys with different spellings. */
  readonly count: number;
  /** The first of them, in both texts. */
  readonly recorded: string;
  readonly replayed: string;
}

const MARKS: ReadonlySet<string> = new Set("{}[],:");

/**
 * @yields strings and keys, punctuation, numbers and words. It is a loop, because a regular expression would need a stack as deep as
 * a text is long.
 */
function* tokensOf(json: string): Generator<string> {
  for (let start = 0, end = 0; start < json.length; start = end) {
    end = start + 1;
    if (json[start] === '"') {
      while (end < json.length && json[end] !== '"') end += json[end] === "\\" ? 2 : 1;
      end += 1;
    } else if (!MARKS.has(json[start]!)) {
      while (end < json.length && json[end] !== '"' && !MARKS.has(json[end]!)) end += 1;
    }
    yield json.slice(start, end);
  }
}

/**
 * Compares two JSON texts without white space between tokens: another writer spells 1e-7 as 1e-07, 1 as 1.0 or ä as \u00e4.
 * @returns undefined if they differ in more than spelling, for example in the order of members or in a duplicate key.
 */
export function spellingOf(recorded: string, replayed: string): Spelling | undefined {
  const others = tokensOf(replayed);
  let count = 0;
  let first: readonly [string, string] = ["", ""];
  for (const token of tokensOf(recorded)) {
    const { value: other, done } = others.next();
    if (other === token) continue;
    if (done || !isSameValue(token, other)) return undefined;
    if (count === 0) first = [token, other];
    count += 1;
  }
  if (!others.next().done || count === 0) return undefined;
  return { count, recorded: first[0], replayed: first[1] };
}

/** Whether two tokens are the same number, string or word. */
function isSameValue(token: string, other: string): boolean {
  const [value, otherValue] = [scalar(token), scalar(other)];
  return value !== undefined && Object.is(value, otherValue);
}

function scalar(token: string): unknown {
  try {
    return JSON.parse(token);
  } catch {
    return undefined;
  }
}
