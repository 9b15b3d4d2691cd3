import { join } from "node:path";
import { type ArrayRef, NpyWriter, readNpyRows, writeNpy } from "../../engine/npy.ts";
import type { FeatureUnion } from "../../panel/feature-union.ts";
import type { PooledMember, PooledPlan } from "../../panel/pooled-plan.ts";
import { targetsOf } from "../../panel/ticker-panel.ts";
import type { FitPanel } from "../shared/panels.ts";

/** The rows of all tickers as the engine maps them: those that some fit learns from, followed by the score rows. */
export interface PooledMatrix {
  /** Shape (learn + score, features of all): NaN if a ticker lacks the feature. */
  readonly x: ArrayRef;
  readonly y: ArrayRef;
}

/** Rows are assembled in memory in pieces of this many bytes. */
const PIECE_BYTES = 32 * 2 ** 20;

/** The size of the matrix in the work folder, in bytes; the page cache needs the same while it is read. */
export function matrixBytes(plan: Pick<PooledPlan, "learnRows" | "scoreRows">, columns: number): number {
  return 8 * (plan.learnRows + plan.scoreRows) * columns;
}

/**
 * Writes the matrix of a pooled fit, piece by piece, from the files of its tickers.
 * @throws MucastError output_failed if the work folder's disk is full.
 */
export function writePooledMatrix(
  plan: PooledPlan<FitPanel>,
  union: FeatureUnion,
  workFolder: string,
): PooledMatrix {
  const k = union.names.length;
  const rows = plan.learnRows + plan.scoreRows;
  const writer = new NpyWriter(join(workFolder, "pooled-x.npy"), [rows, k]);
  const cursors = plan.members.map(() => 0);
  const step = Math.max(1, Math.floor(PIECE_BYTES / (8 * Math.max(1, k))));
  const buffer = new Float64Array(Math.min(step, rows) * k);
  for (let from = 0; from < rows; from += step) {
    const to = Math.min(rows, from + step);
    const piece = buffer.subarray(0, (to - from) * k).fill(Number.NaN);
    for (const [j, member] of plan.members.entries()) {
      const end = countBelow(member.places, to, cursors[j]!);
      // Score rows that a later block learns from are in both parts.
      const part = Math.max(cursors[j]!, Math.min(end, member.learn.length));
      placeRows(member, [cursors[j]!, part], union.columns[j]!, piece, from, k);
      placeRows(member, [part, end], union.columns[j]!, piece, from, k);
      cursors[j] = end;
    }
    writer.append(piece);
  }
  return { x: writer.close(), y: writeTargets(plan, workFolder) };
}

/** How many places from index `from` on are below `limit`, including those before. */
function countBelow(places: Float64Array, limit: number, from: number): number {
  let end = from;
  while (end < places.length && places[end]! < limit) end++;
  return end;
}

/**
 * Copies some rows of a ticker to their places.
 * @param range positions, either all among its rows to learn from or all among its score rows.
 */
function placeRows(
  { panel, learn, places }: PooledMember<FitPanel>,
  [begin, end]: readonly [number, number],
  columns: readonly number[],
  piece: Float64Array,
  first: number,
  k: number,
): void {
  if (begin === end) return;
  const rowOf = (position: number) =>
    position < learn.length ? learn[position]! : panel.score[position - learn.length]!;
  const from = rowOf(begin);
  const x = readNpyRows(panel.x, from, rowOf(end - 1) + 1);
  for (let position = begin; position < end; position++) {
    const source = (rowOf(position) - from) * columns.length;
    const target = (places[position]! - first) * k;
    for (const [c, column] of columns.entries()) if (column >= 0) piece[target + column] = x[source + c]!;
  }
}

function writeTargets({ members, learnRows }: PooledPlan<FitPanel>, workFolder: string): ArrayRef {
  const y = new Float64Array(learnRows);
  for (const { panel, learn, places } of members) {
    const targets = targetsOf(panel);
    for (const [position, row] of learn.entries()) y[places[position]!] = targets[row]!;
  }
  return writeNpy(join(workFolder, "pooled-y.npy"), y, [learnRows]);
}
