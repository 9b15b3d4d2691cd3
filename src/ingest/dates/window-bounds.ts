import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { RequestedWindow } from "../../contract/market/ticker-series.ts";
import { invalid, type Position, quote } from "../blob-errors.ts";
import { Token } from "../json/json-reader.ts";
import { nameOf, type Reading, type Steps } from "../reading.ts";
import { dayOfEpoch, dayOfText, whyNoDate } from "./date-text.ts";

type Bound = keyof RequestedWindow;

const BOUNDS: ReadonlyMap<string, Bound> = new Map([
  ["start", "start"],
  ["start_date", "start"],
  ["sample_start", "start"],
  ["end", "end"],
  ["end_date", "end"],
  ["sample_end", "end"],
]);

/** Keys whose object may contain the bounds of the window. */
export const WINDOW_HOLDERS: ReadonlySet<string> = new Set(["dates", "window", "sample", "metadata"]);

/** The bound that a key defines, if any. `Learning_end` is accepted in any case. */
export function boundOf(name: string): Bound | undefined {
  return BOUNDS.get(name) ?? (name.toLowerCase() === "learning_end" ? "learningEnd" : undefined);
}

/** Collects the bounds of the window from all keys that can define one. They are skipped in a feature blob, which has no window. */
export class WindowBounds {
  readonly #reading: Reading;
  readonly #days = new Map<Bound, { readonly day: Day; readonly name: string }>();

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  window(): RequestedWindow {
    return Object.fromEntries([...this.#days].map(([bound, { day }]) => [bound, day]));
  }

  /** Reads the value of a key that defines a bound; null defines none. */
  *readBound(name: string, bound: Bound): Steps<void> {
    const { json, kind, source } = this.#reading;
    if (kind === "features") {
      yield* json.skip();
      return;
    }
    const token = yield* json.take();
    if (token === Token.null) return;
    const position = { source, offset: json.offset, path: name };
    if (token !== Token.string && token !== Token.number) {
      throw invalid(position, `is ${nameOf(token)}; a date is expected`);
    }
    if (token === Token.string) this.add(name, bound, json.text, position);
    else this.add(name, bound, json.number, position, json.numberText);
  }

  /** @throws MucastError invalid_data if the value is not a date, or differs from the bound under another key. */
  add(name: string, bound: Bound, value: string | number, position: Position, text = String(value)): void {
    const day = typeof value === "number" ? dayOfEpoch(value) : dayOfText(value);
    if (Number.isNaN(day)) throw invalid(position, `${quote(text)} ${whyNoDate(value)}`);
    const other = this.#days.get(bound);
    if (other !== undefined && other.day !== day) {
      throw invalid(position, `is ${formatDay(day)}, but ${quote(other.name)} is ${formatDay(other.day)}`);
    }
    this.#days.set(bound, { day, name });
  }

  /** Reads an object that may contain bounds among other keys, and whose start was just read. */
  *readHolder(): Steps<void> {
    const { json, source } = this.#reading;
    const names = new Set<Bound | string>();
    for (let token = yield* json.take(); token !== Token.objectEnd; token = yield* json.take()) {
      const name = json.text;
      const bound = boundOf(name);
      if (bound === undefined) yield* json.skip();
      else {
        if (names.has(name)) throw invalid({ source, offset: json.offset }, `${quote(name)} comes twice`);
        names.add(name);
        yield* this.readBound(name, bound);
      }
    }
  }
}
