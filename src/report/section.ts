import type { VNode } from "preact";
import { formatDay } from "../contract/market/dates.ts";
import { type Chart, extentsOf, lineOf, type Mark } from "../view/chart.ts";
import { countedRows, type Unit } from "../view/figures.ts";
import { type Child, html } from "../view/html.ts";
import { type Panel, panel } from "../view/panel.ts";
import { type ColumnSpec, numbers } from "../view/table.ts";
import type { Report, ReportedOutput } from "./evidence/reported-outputs.ts";

export interface Section {
  /** The target of its link in the navigation. */
  readonly id: string;
  readonly title: string;
  /** A shorter title for the navigation. */
  readonly short?: string;
  /** @returns undefined if the report has no such section. */
  readonly render: (report: Report) => Child;
}

/** A panel of a section. With several outputs, panels with the same title are side by side. */
export interface ReportPanel extends Panel {
  readonly title: string;
  /** It takes the whole width. */
  readonly isWide?: boolean | undefined;
  /** The measure of order that it shows; the page shows the panels of one of the two at a time. */
  readonly measure?: Measure;
  /** In a report on one output, panels with the same `card` share a card with a tab each. */
  readonly tab?: { readonly card: string; readonly label: string } | undefined;
}

export type Measure = "ic" | "rank";

export function absent(title: string, sentence: string): ReportPanel[] {
  return [{ title, sentence, isWide: true }];
}

interface Panels extends Pick<Section, "id" | "title" | "short"> {
  readonly lead?: (outputs: readonly ReportedOutput[]) => Child;
  /** Whether the page also has its panels for the out-of-fold rows. */
  readonly isByRows?: boolean;
  /** Whether the page lacks the section if no realised return is known: the verdict says so once. */
  readonly needsReturns?: boolean;
  readonly panels: (output: ReportedOutput) => readonly ReportPanel[];
}

export function hasReturns({ outputs }: Report): boolean {
  return outputs.some(({ common }) => common.dateCount > 0);
}

/** For readers who look at out-of-fold rows in a section that only shows score rows. @param why a sentence. */
export function scoreRowsNote({ outputs }: Report, why = ""): VNode | false {
  const note = `${why} This section shows the score rows.`.trim();
  return outputs[0]?.outOfFold !== undefined && html`<p class="intro of-folds">${note}</p>`;
}

/** With several outputs, panels with the same title are side by side, on one scale. */
export function panelSection({ lead, isByRows, needsReturns, panels, ...head }: Panels): Section {
  return {
    ...head,
    render: (report) => {
      if (needsReturns && !hasReturns(report)) return undefined;
      const { outputs } = report;
      const [output] = outputs as readonly [ReportedOutput];
      const alone = (on: ReportedOutput, rows?: string) => panelGrid(panels(on), rows);
      return html`${lead && html`<p class="intro">${lead(outputs)}</p>`}
        ${outputs.length > 1 ? besideEachOther(outputs, panels) : isByRows ? byRows(output, alone) : alone(output)}`;
    },
  };
}

/**
 * A part of a report on one output for its score rows and, if it has them, for its out-of-fold rows; the page shows one of the two.
 * @param render the part, for an output whose `common` are these rows.
 */
export function byRows(
  output: ReportedOutput,
  render: (output: ReportedOutput, rows: string) => VNode,
): VNode {
  const { outOfFold } = output;
  if (outOfFold === undefined) return render(output, "score");
  return html`<div class="of-score">${render(output, "score")}</div>
    <div class="of-folds">${render({ ...output, common: outOfFold }, "folds")}</div>`;
}

/** The panels of one output in full rows. @param rows the name of the rows that they show. */
export function panelGrid(panels: readonly ReportPanel[], rows = "score"): VNode {
  const cells = cellsOf(panels);
  const spans = spansOf(cells);
  return html`<div class="panels alone">${cells.map((cell, i) => cellOf(cell, spans[i]!, rows))}</div>`;
}

export function besideEachOther(
  outputs: readonly ReportedOutput[],
  panels: (output: ReportedOutput) => readonly ReportPanel[],
): VNode[] {
  const byTitle = Map.groupBy(
    outputs.flatMap((output) => panels(output).map((each) => ({ each, owner: output.name }))),
    ({ each }) => each.title,
  );
  return [...byTitle.values()].map((group) => {
    const extents = group.flatMap(({ each }) => (each.chart === undefined ? [] : [extentsOf(each.chart)]));
    const within = { x: extents.flatMap(({ x }) => x), y: extents.flatMap(({ y }) => y) };
    return html`<div class=${kindOf("panels", { ...group[0]!.each, isWide: false })}>${group.map(
      ({ each, owner }) => panel(each, { kind: kindOf(undefined, each), owner, within }),
    )}</div>`;
  });
}

function kindOf(span: string | undefined, { isWide, measure }: ReportPanel): string | undefined {
  const classes = [isWide ? "wide" : span, measure && `of-${measure}`];
  return classes.filter((each) => each !== undefined).join(" ") || undefined;
}

/** Panels in one place: of both measures of order, or the tabs of a card. */
interface Cell {
  readonly panels: ReportPanel[];
  readonly card: string | undefined;
  readonly isWide: boolean;
}

/** Panels that follow each other and share a card, or show the IC after the RankIC, share a cell. */
export function cellsOf(panels: readonly ReportPanel[]): Cell[] {
  const cells: Cell[] = [];
  for (const each of panels) {
    const last = cells.at(-1);
    const card = each.tab?.card;
    const joins = card === undefined ? each.measure === "ic" : last?.card === card;
    if (joins && last !== undefined) last.panels.push(each);
    else cells.push({ panels: [each], card, isWide: each.isWide ?? false });
  }
  return cells;
}

function cellOf({ panels, card }: Cell, span: string, rows: string): VNode | VNode[] {
  const tabs = [...Map.groupBy(panels, ({ tab }) => tab?.label ?? "")];
  if (card === undefined || tabs.length < 2)
    return panels.map((each) => panel(each, { kind: kindOf(span, each) }));
  return html`<div class=${`card ${span}`}>
    <fieldset class="switch"><legend class="unseen">Charts of this card</legend>${tabs.map(
      ([label], i) =>
        html`<label><input type="radio" name=${`${card}-${rows}`} checked=${i === 0} />${label}</label>`,
    )}</fieldset>
    ${tabs.map(([, some]) => html`<div class="view">${some.map((each) => panel(each, { kind: kindOf(undefined, each) }))}</div>`)}
  </div>`;
}

/** The share of a row that each cell takes, so that no row has a hole: thirds, and halves for what three do not divide. */
export function spansOf(cells: readonly Pick<Cell, "isWide">[]): string[] {
  const spans: string[] = [];
  for (let from = 0; from < cells.length; ) {
    let to = from;
    while (to < cells.length && !cells[to]!.isWide) to++;
    const count = to - from;
    const halves = count % 3 === 0 ? 0 : count % 3 === 1 ? 4 : 2;
    for (let place = 0; place < count; place++)
      spans.push(count === 1 ? "wide" : place < count - halves ? "third" : "half");
    if (to < cells.length) spans.push("wide");
    from = to + 1;
  }
  return spans;
}

/** Lines over dates, the first one solid and the second one dashed, with their numbers. */
interface DatedLines {
  readonly title: string;
  readonly unit: Unit;
  readonly days: Int32Array;
  readonly lines: readonly (readonly [name: string, meaning: string, values: Float64Array])[];
  /** Marks behind the lines. */
  readonly marks?: Chart["marks"];
  /** Further values of the axis. */
  readonly within?: readonly number[];
  /** Columns of the table beside the date. */
  readonly columns: readonly (readonly [title: string, unit: Unit, values: Float64Array])[];
}

export function linesOverDates({
  title,
  unit,
  days,
  lines,
  marks = [],
  within = [],
  columns,
}: DatedLines): Pick<ReportPanel, "title" | "chart" | "numbers"> {
  const drawn = lines.map(([name, meaning, values], i): Mark => {
    const kind = i === 0 ? "line" : "line second";
    return { kind, shape: "line", points: lineOf(days, values), name, meaning };
  });
  const isKnown = (i: number) => columns.some(([, , values]) => !Number.isNaN(values[i]));
  return {
    title,
    chart: { x: "days", y: { unit, within }, marks: [...marks, ...drawn] },
    numbers: numbers<number>({
      name: title,
      rows: [...days.keys()].filter(isKnown),
      columns: [
        ["Date", "text", (i) => formatDay(days[i]!)],
        ...columns.map(([name, each, values]): ColumnSpec<number> => [name, each, (i) => values[i]]),
      ],
    }),
  };
}

/** Up to this many rows, a chart shows each. */
const MAX_BARS = 49;
/** Beyond that, it shows only this many at the top and at the bottom. */
export const END_BARS = 10;

/** The top and the bottom of a list that is too long for a chart, with a gap between them, or the whole list. */
export function endsOf<T>(rows: readonly T[]): {
  readonly shown: readonly (T | null)[];
  readonly gap: string;
} {
  if (rows.length <= MAX_BARS) return { shown: rows, gap: "" };
  return {
    shown: [...rows.slice(0, END_BARS), null, ...rows.slice(-END_BARS)],
    gap: `${rows.length - 2 * END_BARS} more`,
  };
}

/** A year whose number of dates or rows is below this share of the longest year does not count: one date would decide it. */
const MIN_SHARE = 0.05;

export function longYears<T extends { readonly year: number; readonly n: number }>(
  years: readonly T[],
  noun: string,
): { readonly long: readonly T[]; readonly note: string } {
  const longest = years.reduce((most, { n }) => Math.max(most, n), 0);
  const isLong = ({ n }: T) => n >= MIN_SHARE * longest;
  const short = years.filter((year) => !isLong(year));
  const named = short.map(({ year, n }) => `${year} (${countedRows(n, noun)})`).join(", ");
  return {
    long: years.filter(isLong),
    note: short.length === 0 ? "" : ` Not counted, too short: ${named}.`,
  };
}
