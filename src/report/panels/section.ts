import type { Report, ReportedOutput } from "../evidence/reported-outputs.ts";
import { type Panel, panelHtml } from "./panel.ts";

/** A section of the page. */
export interface Section {
  /** The target of its link in the navigation. */
  readonly id: string;
  readonly title: string;
  /** A shorter title for the navigation. */
  readonly short?: string;
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
  readonly panels: (output: ReportedOutput) => readonly Panel[];
}

/** A section of charts. With several outputs, charts with the same title are side by side, on one scale. */
export function chartSection({
  lead,
  panels,
  ...section
}: Charts & Pick<Section, "id" | "title" | "short">): Section {
  return { ...section, html: ({ outputs }) => chartsHtml({ ...(lead && { lead }), panels }, outputs) };
}

function chartsHtml({ lead, panels }: Charts, outputs: readonly ReportedOutput[]): string {
  const lines = lead === undefined ? "" : `<p class="intro">${lead}</p>\n`;
  return `${lines}${outputs.length === 1 ? panelsHtml(panels(outputs[0]!)) : besideHtml(outputs, panels)}`;
}

/** The panels of one output in full rows. */
export function panelsHtml(panels: readonly Panel[]): string {
  const spans = spansOf(panels);
  return `<div class="panels alone">${panels.map((panel, i) => panelHtml(panel, { span: spans[i]! })).join("\n")}</div>`;
}

/** Panels with the same title beside each other, on one scale. */
export function besideHtml(
  outputs: readonly ReportedOutput[],
  panels: (output: ReportedOutput) => readonly Panel[],
): string {
  const byTitle = Map.groupBy(
    outputs.flatMap((output) => panels(output).map((panel) => ({ panel, name: output.name }))),
    ({ panel }) => panel.title,
  );
  const groups = [...byTitle.values()].map((group) => {
    const within = group.flatMap(({ panel: { chart } }) => (typeof chart === "string" ? [] : chart.extent));
    const { measure } = group[0]!.panel;
    const kind = measure === undefined ? "panels" : `panels of-${measure}`;
    return `<div class="${kind}">${group.map(({ panel, name }) => panelHtml(panel, { owner: name, within })).join("\n")}</div>`;
  });
  return groups.join("\n");
}

/**
 * The share of a row that each panel takes, so that no row has a hole: thirds, and halves for what three do not divide. Wide panels have
 * their own rows, and the panels of both measures of order share a place.
 */
export function spansOf(panels: readonly Pick<Panel, "isWide" | "measure">[]): string[] {
  const spans: string[] = [];
  for (let from = 0; from < panels.length; ) {
    let to = from;
    while (to < panels.length && !panels[to]!.isWide) to++;
    const run = panels.slice(from, to);
    const places = run.filter(({ measure }) => measure !== "ic").length;
    let place = 0;
    for (const { measure } of run) {
      spans.push(spanAt(measure === "ic" ? place - 1 : place, places));
      if (measure !== "ic") place++;
    }
    if (to < panels.length) spans.push("wide");
    from = to + 1;
  }
  return spans;
}

function spanAt(place: number, places: number): string {
  if (places === 1) return "wide";
  const halves = places % 3 === 0 ? 0 : places % 3 === 1 ? 4 : 2;
  return place < places - halves ? "third" : "half";
}
