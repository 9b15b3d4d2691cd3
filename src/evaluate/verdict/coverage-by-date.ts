import type { Pausable } from "../../contract/machine/pausable.ts";
import { type Bounds, hasNoEnds } from "../intervals/conformal.ts";
import { dateLayout, laidByDate } from "../rows-by-date.ts";
import type { CoverageByDate } from "./findings.ts";

/** Rows of one ticker with their intervals: shape (n) each, dates ascending. */
export interface BoundedRows extends Bounds {
  readonly days: Int32Array;
  /** NaN if there is no label. */
  readonly realised: Float64Array;
}

/** How many labels lie inside their intervals, ends included, by date, over the rows that have a label and an end. */
export function* coverageByDate(rows: readonly BoundedRows[]): Pausable<CoverageByDate> {
  const counted: { readonly days: Int32Array; readonly hits: Float64Array }[] = [];
  for (const row of rows) {
    yield 0;
    const places: number[] = [];
    for (let i = 0; i < row.days.length; i++) {
      if (!Number.isNaN(row.realised[i]!) && !hasNoEnds(row, i)) places.push(i);
    }
    counted.push({
      days: Int32Array.from(places, (i) => row.days[i]!),
      // A side without an end is NaN, and no label is beyond it.
      hits: Float64Array.from(places, (i) =>
        row.realised[i]! < row.lower[i]! || row.realised[i]! > row.upper[i]! ? 0 : 1,
      ),
    });
  }
  const layout = yield* dateLayout(counted);
  const hits = yield* laidByDate(
    layout,
    counted.map((row) => row.hits),
  );
  const [inside, total]: [number[], number[]] = [[], []];
  for (let d = 0; d + 1 < layout.starts.length; d++) {
    const ofDate = hits.subarray(layout.starts[d]!, layout.starts[d + 1]!);
    if (ofDate.length === 0) continue;
    inside.push(ofDate.reduce((sum, hit) => sum + hit, 0));
    total.push(ofDate.length);
  }
  return { inside: Float64Array.from(inside), counted: Float64Array.from(total) };
}
