import { escapeText } from "../charts/plot.ts";
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

/**
 * The panels of one output in full rows.
 * @param rows the name of the rows that they show, if the page has them for several sets of rows.
 */
export function panelsHtml(panels: readonly Panel[], rows = "score"): string {
  const cells = cellsOf(panels);
  const spans = spansOf(cells);
  return `<div class="panels alone">${cells.map((cell, i) => cellHtml(cell, spans[i]!, rows)).join("\n")}</div>`;
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

/** Panels in one place: of both measures of order, or the tabs of a card. */
interface Cell {
  readonly panels: readonly Panel[];
  readonly card: string | undefined;
  readonly isWide: boolean;
}

/** Panels that follow each other and share a card, or show the IC after the RankIC, share a cell. */
export function cellsOf(panels: readonly Panel[]): Cell[] {
  const cells: { panels: Panel[]; card: string | undefined; isWide: boolean }[] = [];
  for (const panel of panels) {
    const last = cells.at(-1);
    const card = panel.tab?.card;
    const joins = card === undefined ? panel.measure === "ic" : last?.card === card;
    if (joins && last !== undefined) last.panels.push(panel);
    else cells.push({ panels: [panel], card, isWide: panel.isWide ?? false });
  }
  return cells;
}

function cellHtml({ panels, card }: Cell, span: string, rows: string): string {
  const tabs = Map.groupBy(panels, ({ tab }) => tab?.label ?? "");
  if (card === undefined || tabs.size < 2)
    return panels.map((panel) => panelHtml(panel, { span })).join("\n");
  const inputs = [...tabs.keys()].map(
    (label, i) =>
      `<label><input type="radio" name="${card}-${rows}"${i === 0 ? " checked" : ""}>${escapeText(label)}</label>`,
  );
  const views = [...tabs.values()].map(
    (own) => `<div class="view">${own.map((panel) => panelHtml(panel)).join("\n")}</div>`,
  );
  return `<div class="card ${span}"><fieldset class="switch"><legend class="unseen">Charts of this card</legend>${inputs.join("")}</fieldset>${views.join("\n")}</div>`;
}

/** The share of a row that each cell takes, so that no row has a hole: thirds, and halves for what three do not divide. */
export function spansOf(cells: readonly Pick<Cell, "isWide">[]): string[] {
  const spans: string[] = [];
  for (let from = 0; from < cells.length; ) {
    let to = from;
    while (to < cells.length && !cells[to]!.isWide) to++;
    for (let place = 0; place < to - from; place++) spans.push(spanAt(place, to - from));
    if (to < cells.length) spans.push("wide");
    from = to + 1;
  }
  return spans;
}

function spanAt(place: number, places: number): string {
  if (places === 1) return "wide";
  const halves = places % 3 === 0 ? 0 : places % 3 === 1 ? 4 : 2;
  return place < places - halves ? "third" : "half";
}
