import { join } from "node:path";
import { type ArrayRef, NpyWriter, readNpyRows, writeNpy } from "../../engine/npy.ts";
import type { FeatureUnion } from "../../panel/feature-union.ts";
import type { PooledMember, PooledPlan } from "../../panel/pooled-plan.ts";
import { targetsOf } from "../../panel/ticker-panel.ts";
import type { FitPanel } from "../shared/panels.ts";

const PIECE_BYTES = 32 * 2 ** 20;

/** The size of the matrix in the work folder, in bytes; the page cache needs the same while it is read. */
export function matrixBytes(plan: Pick<PooledPlan, "learnRows" | "scoreRows">, columns: number): number {
  return 8 * (plan.learnRows + plan.scoreRows) * columns;
}

/**
 * Writes the matrix of a pooled fit, piece by piece, from the files of its tickers: the rows that some fit learns from, followed by the score
 * rows, as `x`, shape (learn + score, features of all), NaN if a ticker lacks the feature; and targets as `y`, shape (learn).
 * @throws MucastError output_failed if the work folder's disk is full.
 */
export function writePooledMatrix(
  plan: PooledPlan<FitPanel>,
  union: FeatureUnion,
  workFolder: string,
): { readonly x: ArrayRef; readonly y: ArrayRef } {
  const { members, learnRows } = plan;
  const k = union.names.length;
  const rows = learnRows + plan.scoreRows;
  const writer = new NpyWriter(join(workFolder, "pooled-x.npy"), [rows, k]);
  const cursors = members.map(() => 0);
  const step = Math.max(1, Math.floor(PIECE_BYTES / (8 * Math.max(1, k))));
  const buffer = new Float64Array(Math.min(step, rows) * k);
  for (let from = 0; from < rows; from += step) {
    const to = Math.min(rows, from + step);
    const piece = { values: buffer.subarray(0, (to - from) * k).fill(Number.NaN), from, k };
    for (const [j, member] of members.entries()) {
      const begin = cursors[j]!;
      let end = begin;
      while (end < member.places.length && member.places[end]! < to) end++;
      // Score rows that a later block learns from are in both parts.
      const part = Math.max(begin, Math.min(end, member.learn.length));
      placeRows(member, begin, part, union.columns[j]!, piece);
      placeRows(member, part, end, union.columns[j]!, piece);
      cursors[j] = end;
    }
    writer.append(piece.values);
  }
  const y = new Float64Array(learnRows);
  for (const { panel, learn, places } of members) {
    const targets = targetsOf(panel);
    for (const [position, row] of learn.entries()) y[places[position]!] = targets[row]!;
  }
  return { x: writer.close(), y: writeNpy(join(workFolder, "pooled-y.npy"), y, [learnRows]) };
}

/** Copies the rows of a ticker at positions [begin, end) to their places: all are rows to learn from, or all score rows. */
function placeRows(
  { panel, learn, places }: PooledMember<FitPanel>,
  begin: number,
  end: number,
  columns: readonly number[],
  piece: { readonly values: Float64Array; readonly from: number; readonly k: number },
): void {
  if (begin === end) return;
  const rowOf = (position: number) =>
    position < learn.length ? learn[position]! : panel.score[position - learn.length]!;
  const from = rowOf(begin);
  const x = readNpyRows(panel.x, from, rowOf(end - 1) + 1);
  for (let position = begin; position < end; position++) {
    const source = (rowOf(position) - from) * columns.length;
    const target = (places[position]! - piece.from) * piece.k;
    for (let c = 0; c < columns.length; c++)
      if (columns[c]! >= 0) piece.values[target + columns[c]!] = x[source + c]!;
  }
}
