import { join } from "node:path";
import type { Failure } from "../contract/output-blob.ts";
import { type ArrayRef, writeNpy } from "../engine/npy.ts";
import type { PanelRows } from "../panel/ticker-panel.ts";
import type { Inputs } from "./read-inputs.ts";

/** A panel whose features lie in the work folder: of thousands only the small parts stay in memory. */
export type PanelOnDisk = PanelRows & {
  /** Shape (rows, k): every row, labelled or not. */
  readonly x: ArrayRef;
};

/**
 * Reads every panel and writes its features at once.
 * @returns panels and failures in the feature blob's order.
 * @throws MucastError of the reading; output_failed where the work folder's disk is full.
 */
export async function writePanels(
  inputs: Inputs,
  workFolder: string,
  signal: AbortSignal,
): Promise<{ readonly panels: readonly PanelOnDisk[]; readonly failures: readonly Failure[] }> {
  const panels: PanelOnDisk[] = [];
  const failures: Failure[] = [];
  for await (const panel of inputs.panels()) {
    signal.throwIfAborted();
    if ("code" in panel) failures.push(panel);
    else {
      const shape = [panel.days.length, panel.columns.length];
      // The name of a file never holds a ticker's.
      const x = writeNpy(join(workFolder, `x${panels.length}.npy`), panel.x, shape);
      panels.push({ ...panel, x });
    }
  }
  return { panels, failures };
}
