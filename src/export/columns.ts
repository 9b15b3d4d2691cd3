import type { ForecastPart } from "./forecast-parts.ts";

export type Column =
  /** A text is the same in all rows of a part. */
  | { readonly name: string; readonly kind: "text"; readonly of: (part: ForecastPart) => string }
  | {
      readonly name: string;
      readonly kind: "date" | "integer" | "number";
      /** Undefined or NaN if the row has none. */
      readonly of: (part: ForecastPart, row: number) => number | undefined;
    };

/** Every column, in the order of the file. docs/portfolio.md has a line for each, as a test checks. */
export const COLUMNS: readonly Column[] = [
  { name: "ticker", kind: "text", of: ({ ticker }) => ticker },
  { name: "date", kind: "date", of: ({ days }, row) => days[row] },
  { name: "part", kind: "text", of: ({ part }) => part },
  { name: "fold", kind: "integer", of: ({ fold }) => fold },
  { name: "predicted", kind: "number", of: ({ predicted }, row) => predicted[row] },
  { name: "lower", kind: "number", of: ({ lower }, row) => lower?.[row] },
  { name: "upper", kind: "number", of: ({ upper }, row) => upper?.[row] },
  { name: "realised", kind: "number", of: ({ realised }, row) => realised[row] },
];
