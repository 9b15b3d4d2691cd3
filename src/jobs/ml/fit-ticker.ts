import { join } from "node:path";
import { type ArrayRef, writeNpy } from "../../engine/npy.ts";
import type { TickerPanel } from "../../panel/ticker-panel.ts";

/** A ticker's rows as the engine maps them: the fit rows followed by the score rows, both in date order. */
export interface TickerMatrix {
  /** Shape (fit + score, k). */
  readonly x: ArrayRef;
  /** Shape (fit): labels. */
  readonly y: ArrayRef;
}

/**
 * Writes a panel's matrices into the work folder.
 * @param index number of the ticker within the job; file names never hold a ticker's name.
 * @throws MucastError output_failed where the work folder's disk is full.
 */
export function writeTickerMatrix(panel: TickerPanel, workFolder: string, index: number): TickerMatrix {
  const k = panel.columns.length;
  const rows = [...panel.fit, ...panel.score];
  const x = new Float64Array(rows.length * k);
  for (const [to, from] of rows.entries()) x.set(panel.x.subarray(from * k, (from + 1) * k), to * k);
  return {
    x: writeNpy(join(workFolder, `x${index}.npy`), x, [rows.length, k]),
    y: writeNpy(join(workFolder, `y${index}.npy`), labelsOf(panel), [panel.fit.length]),
  };
}

/** Shape (fit): the labels to learn. */
export function labelsOf(panel: Pick<TickerPanel, "fit" | "y">): Float64Array {
  return Float64Array.from(panel.fit, (row) => panel.y[row]!);
}
