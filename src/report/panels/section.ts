import type { Report, ReportedOutput } from "../evidence/reported-outputs.ts";
import { type Panel, panelHtml } from "./panel.ts";

/** A section of the page. */
export interface Section {
  /** The target of its link in the navigation. */
  readonly id: string;
  readonly title: string;
  /** @returns HTML, or undefined if the report has no such section. */
  readonly html: (report: Report) => string | undefined;
}

/**
 * The numbers and sentences of a section, or a sentence that says why the output has none; a `finding` is one plain sentence about a
 * chart, and its accessible name.
 *
 * Returns are next-day log-returns, shares lie in [0, 1], and NaN in a typed array is a gap. Text from a blob (tickers, features,
 * messages, model, provenance) and findings that name a ticker are untrusted: they are stored unchanged, and the panels escape them.
 */
export type Part<T> =
  | { readonly data: T; readonly absent?: undefined }
  | { readonly data?: undefined; readonly absent: string };

/** The panels of a part, or one panel that says why there are none. */
export function panelsOf<T>(
  title: string,
  part: Part<T>,
  panels: (data: T) => readonly Panel[],
): readonly Panel[] {
  if (part.data !== undefined) return panels(part.data);
  return [{ title, finding: part.absent!, chart: "", isWide: true }];
}

/** A section of charts. */
interface Charts {
  /** HTML. */
  readonly lead?: string;
  /** Its panels have very different heights. */
  readonly isLoose?: boolean;
  readonly panels: (output: ReportedOutput) => readonly Panel[];
}

/** A section of charts. With several outputs, charts with the same title are side by side, on one scale. */
export function chartSection({ id, title, ...charts }: Charts & Pick<Section, "id" | "title">): Section {
  return { id, title, html: ({ outputs }) => chartsHtml(charts, outputs) };
}

function chartsHtml({ lead, isLoose, panels }: Charts, outputs: readonly ReportedOutput[]): string {
  const lines = lead === undefined ? "" : `<p>${lead}</p>\n`;
  if (outputs.length === 1) {
    const kind = isLoose ? "panels loose" : "panels alone";
    return `${lines}<div class="${kind}">${panels(outputs[0]!)
      .map((panel) => panelHtml(panel))
      .join("\n")}</div>`;
  }
  const byTitle = Map.groupBy(
    outputs.flatMap((output) => panels(output).map((panel) => ({ panel, name: output.name }))),
    ({ panel }) => panel.title,
  );
  const groups = [...byTitle.values()].map((group) => {
    const within = group.flatMap(({ panel: { chart } }) => (typeof chart === "string" ? [] : chart.extent));
    return `<div class="panels">${group.map(({ panel, name }) => panelHtml(panel, name, within)).join("\n")}</div>`;
  });
  return `${lines}${groups.join("\n")}`;
}
