import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { PanelSettings } from "../../../contract/config/panel-settings.ts";
import { workFolderError } from "../../../contract/errors/system-error.ts";
import { removeArray } from "../../../engine/npy.ts";
import type { LateTickers } from "../late-tickers.ts";
import { linkPanels, type PanelFiles, type PanelOnDisk } from "../panel-files.ts";
import { type Prepared, preparePanels } from "../prepare-panels.ts";

/** Panels and the tickers that join late, before the tickers are compared. */
export interface ReadPanels<P extends PanelOnDisk> {
  readonly files: PanelFiles<P>;
  readonly late: LateTickers | undefined;
}

/** The same after the tickers were compared. */
export interface ComparedPanels<P extends PanelOnDisk> {
  readonly prepared: Prepared<P>;
  readonly late: LateTickers | undefined;
}

/** Panels for several candidates, whose tickers were compared once for each way of comparing them that a candidate asks for. */
export class SharedPanels<P extends PanelOnDisk> {
  readonly #workFolder: string;
  readonly #compared: ReadonlyMap<string, ComparedPanels<P>>;
  #links = 0;

  private constructor(workFolder: string, compared: ReadonlyMap<string, ComparedPanels<P>>) {
    this.#workFolder = workFolder;
    this.#compared = compared;
  }

  /**
   * Compares the tickers. The files of `read` are removed.
   * @throws MucastError like `preparePanels`.
   */
  static compare<P extends PanelOnDisk>(
    { files, late }: ReadPanels<P>,
    settings: readonly PanelSettings[],
    workFolder: string,
  ): SharedPanels<P> {
    const compared = new Map<string, ComparedPanels<P>>();
    for (const own of settings) {
      if (compared.has(keyOf(own))) continue;
      const folder = newFolder(workFolder, `compared${compared.size}`);
      const links = { ...files, panels: linkPanels(files.panels, folder) };
      const prepared = preparePanels(links, own, folder);
      compared.set(keyOf(own), { prepared, late: late?.linkedTo(folder) });
    }
    for (const { x } of files.panels) removeArray(x.ref);
    late?.remove();
    return new SharedPanels(workFolder, compared);
  }

  /** The panels that these settings need; their files remain until `remove`. */
  of(settings: PanelSettings): ComparedPanels<P> {
    return this.#compared.get(keyOf(settings))!;
  }

  /**
   * The first of these settings whose panels are not empty; the first of all if none has a ticker. Blocks and dates of the job come from its
   * panels.
   */
  firstWithPanels<S extends PanelSettings>(settings: readonly S[]): S {
    return settings.find((own) => this.of(own).prepared.panels.length > 0) ?? settings[0]!;
  }

  /** The same in a folder of their own, for fits that remove what they have read. */
  linked(settings: PanelSettings): ComparedPanels<P> & { readonly folder: string } {
    const { prepared, late } = this.of(settings);
    const folder = newFolder(this.#workFolder, `candidate${this.#links++}`);
    const panels = linkPanels(prepared.panels, folder);
    return { prepared: { ...prepared, panels }, late: late?.linkedTo(folder), folder };
  }

  /** Removes the folder of `linked` with all that fits have left in it, such as the matrix of a pooled fit that failed. */
  static removeLinked(folder: string): void {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // A worker that is being stopped may still write a file. The work folder is removed when the job ends.
    }
  }

  remove(): void {
    for (const { prepared, late } of this.#compared.values()) {
      for (const { x } of prepared.panels) removeArray(x.ref);
      late?.remove();
    }
  }
}

/** Equal for settings that need the same panels. */
function keyOf({ target, crossSection }: PanelSettings): string {
  return `${target} ${crossSection}`;
}

/** @throws MucastError output_failed if the work folder's disk is full. */
function newFolder(workFolder: string, name: string): string {
  const path = join(workFolder, name);
  try {
    mkdirSync(path);
  } catch (cause) {
    throw workFolderError("written", cause);
  }
  return path;
}
