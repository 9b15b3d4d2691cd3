import { join } from "node:path";
import type { Failure } from "../../contract/problems/problem.ts";
import { type ArrayRef, linkArray, readNpyRows, removeArray, writeNpy } from "../../engine/npy.ts";
import type { PanelRows, TickerPanel } from "../../panel/ticker-panel.ts";

/** A panel whose features are in a file of the work folder, so that thousands of tickers keep only small parts in memory. */
export type PanelOnDisk = PanelRows & {
  /** Shape (rows, k): every row, labelled or not. */
  readonly x: ArrayRef;
};

/** Panels in the work folder, and the tickers that have none. */
export interface PanelFiles<P extends PanelOnDisk = PanelOnDisk> {
  readonly panels: readonly P[];
  readonly failures: readonly Failure[];
}

/**
 * Reads every panel and writes its features to a file at once.
 * @param keep what to keep of each panel while its features are in memory.
 * @param name prefix of the file names, in a folder with several such lists.
 */
export async function writePanels<Kept extends object>(
  panels: AsyncIterable<TickerPanel | Failure> | Iterable<TickerPanel | Failure>,
  workFolder: string,
  signal: AbortSignal,
  keep: (panel: TickerPanel) => Kept,
  name = "panel",
): Promise<PanelFiles<PanelOnDisk & Kept>> {
  const written: (PanelOnDisk & Kept)[] = [];
  const failures: Failure[] = [];
  for await (const panel of panels) {
    signal.throwIfAborted();
    if ("code" in panel) failures.push(panel);
    else {
      const shape = [panel.days.length, panel.columns.length];
      // File names never contain a ticker's name.
      const x = writeNpy(join(workFolder, `${name}${written.length}.npy`), panel.x, shape);
      written.push({ ...panel, ...keep(panel), x });
    }
  }
  return { panels: written, failures };
}

/** The panels, one at a time in memory; the file of each is removed once it is read. */
export function* panelsInMemory<P extends PanelOnDisk>({
  panels,
  failures,
}: PanelFiles<P>): Generator<(Omit<P, "x"> & { readonly x: Float64Array }) | Failure> {
  yield* failures;
  for (const panel of panels) {
    const x = readNpyRows(panel.x, 0, panel.days.length);
    removeArray(panel.x.ref);
    yield { ...panel, x };
  }
}

/**
 * The same panels under further names, because fitting removes the files that it reads.
 * @param folder inside the work folder; it exists.
 */
export function linkPanels<P extends PanelOnDisk>(panels: readonly P[], folder: string): P[] {
  return panels.map((panel, i) => ({ ...panel, x: linkArray(panel.x, join(folder, `panel${i}.npy`)) }));
}
