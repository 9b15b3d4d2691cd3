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
 * Returns are log-returns of one day, shares lie in [0, 1], and NaN in a typed array is a gap. Text from a blob (tickers, features,
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
  readonly lead?: string | ((outputs: readonly ReportedOutput[]) => string);
  /** Whether the page also has its panels for the out-of-fold rows. */
  readonly isByRows?: boolean;
  /** Whether the page lacks the section if no realised return is known: the verdict says so once. */
  readonly needsReturns?: boolean;
  readonly panels: (output: ReportedOutput) => readonly Panel[];
}

/** Whether a realised return is known for any row that the report judges. */
export function hasReturns({ outputs }: Report): boolean {
  return outputs.some(({ common }) => common.dateCount > 0);
}

/** A sentence for readers who look at out-of-fold rows in a section that only shows score rows. @param why a sentence. */
export function scoreRowsNote({ outputs }: Report, why = ""): string {
  if (outputs[0]?.outOfFold === undefined) return "";
  return `<p class="intro of-folds">${[why, "This section shows the score rows."].join(" ").trim()}</p>\n`;
}

/** A section of charts. With several outputs, charts with the same title are side by side, on one scale. */
export function chartSection({
  lead,
  isByRows,
  needsReturns = false,
  panels,
  ...section
}: Charts & Pick<Section, "id" | "title" | "short">): Section {
  return {
    ...section,
    html: (report) =>
      needsReturns && !hasReturns(report)
        ? undefined
        : chartsHtml({ ...(lead && { lead }), ...(isByRows && { isByRows }), panels }, report.outputs),
  };
}

function chartsHtml({ lead, isByRows, panels }: Charts, outputs: readonly ReportedOutput[]): string {
  const text = typeof lead === "function" ? lead(outputs) : lead;
  const lines = text === undefined ? "" : `<p class="intro">${text}</p>\n`;
  if (outputs.length > 1) return `${lines}${besideHtml(outputs, panels)}`;
  const [output] = outputs as readonly [ReportedOutput];
  const html = (on: ReportedOutput, rows?: string) => panelsHtml(panels(on), rows);
  return `${lines}${isByRows ? byRowsHtml(output, html) : html(output)}`;
}

/**
 * A part of a report on one output for its score rows and, if it has them, for its out-of-fold rows; the page shows one of the two.
 * @param html of the part, for an output whose `common` are these rows.
 */
export function byRowsHtml(
  output: ReportedOutput,
  html: (output: ReportedOutput, rows: string) => string,
): string {
  const { outOfFold } = output;
  if (outOfFold === undefined) return html(output, "score");
  return `<div class="of-score">${html(output, "score")}</div><div class="of-folds">${html({ ...output, common: outOfFold }, "folds")}</div>`;
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
