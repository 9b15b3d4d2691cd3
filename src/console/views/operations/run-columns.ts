import type { OperationView } from "../../../client/index.ts";
import { closeName, summaryIc } from "../../../contract/output/later-close.ts";
import { bandFigure, figure, NO_FIGURE } from "../../../view/figures.ts";
import { type Child, element } from "../../dom.ts";
import {
  code,
  counted,
  duration,
  KINDS,
  moment,
  STATUSES,
  stageWords,
  statusBadge,
  textElement,
} from "../../words.ts";

export interface RunColumn {
  /** Its name in the address. */
  readonly key: string;
  readonly title: string;
  /** Numbers are aligned to the right, and sorted from the largest at first. */
  readonly isNumber: boolean;
  /** The value to sort by; undefined if the run has none. */
  value(operation: OperationView): number | string | undefined;
  /** The contents of its cell; nothing if the run has none. */
  cell(operation: OperationView): readonly Child[];
}

const KIND_ORDER = Object.keys(KINDS);
const STATUS_ORDER = STATUSES.map(([name]) => name);

type Summary = NonNullable<OperationView["summary"]>;
type Verdict = NonNullable<Summary["verdict"]>;

/** A column of a figure of the verdict's headline. */
function figureColumn(
  key: string,
  title: string,
  value: (verdict: Verdict, summary: Summary) => number | null,
  cell: (verdict: Verdict, summary: Summary) => readonly Child[],
): RunColumn {
  return {
    key,
    title,
    isNumber: true,
    value: ({ summary }) => (summary?.verdict ? (value(summary.verdict, summary) ?? undefined) : undefined),
    cell: ({ summary }) => (summary?.verdict ? cell(summary.verdict, summary) : []),
  };
}

/** The first column, of the name of a run, is the header of its row. */
export const RUN_COLUMNS: readonly RunColumn[] = [
  {
    key: "run",
    title: "Run",
    isNumber: false,
    value: ({ operation }) => KIND_ORDER.indexOf(operation),
    cell: () => [],
  },
  {
    key: "status",
    title: "Status",
    isNumber: false,
    value: ({ status }) => STATUS_ORDER.indexOf(status),
    cell: (operation) => [statusBadge(operation.status), ...detail(stateOf(operation))],
  },
  {
    key: "model",
    title: "Model",
    isNumber: false,
    value: modelOf,
    cell: (operation) => {
      const model = modelOf(operation);
      return model === undefined ? [] : [textElement(model, 60)];
    },
  },
  {
    key: "data",
    title: "Data",
    isNumber: false,
    value: (operation) => namesOf(operation)[0],
    cell: (operation) => {
      const names = namesOf(operation);
      const id = sharedIdOf(names);
      if (id !== undefined) return [element("div", { title: names.join("\n") }, textElement(id, 80))];
      return names.map((name) => element("div", {}, textElement(name, 80)));
    },
  },
  {
    key: "tickers",
    title: "Tickers",
    isNumber: true,
    value: ({ summary }) => summary?.tickers,
    cell: ({ summary }) =>
      summary === undefined
        ? []
        : [
            figure(summary.tickers, "count"),
            ...detail(summary.failed > 0 && `${figure(summary.failed, "count")} failed`),
          ],
  },
  figureColumn(
    "ic",
    "IC",
    (_, summary) => summaryIc(summary),
    ({ ic_low: low, ic_high: high }, summary) => {
      const ic = summaryIc(summary);
      return [
        figure(ic, "ic"),
        ...detail(ic !== null && low !== null && high !== null && bandFigure({ low, high }, "ic")),
      ];
    },
  ),
  figureColumn(
    "later",
    "IC later",
    ({ later }) => later?.ic ?? null,
    ({ later }) =>
      later === undefined
        ? []
        : [
            figure(later.ic, "ic"),
            ...detail(later.net_5bp !== null && `net ${figure(later.net_5bp / 1e4, "mu")}`),
            ...detail(later.delay > 1 && closeName(later.delay)),
          ],
  ),
  figureColumn(
    "r2",
    "R²",
    ({ r2 }) => r2,
    ({ r2 }) => [figure(r2, "r2")],
  ),
  figureColumn(
    "coverage",
    "Coverage",
    ({ coverage }) => coverage,
    ({ coverage, nominal_coverage: nominal }) =>
      coverage === null
        ? [NO_FIGURE]
        : [figure(coverage, "coverage"), ...detail(`of ${figure(nominal, "coverage")}`)],
  ),
  {
    key: "verdict",
    title: "Verdict",
    isNumber: false,
    value: ({ summary }) => summary?.verdict?.title,
    cell: (operation) => {
      const title = operation.summary?.verdict?.title;
      return [
        ...(title === undefined ? [] : [element("div", {}, textElement(title, 80))]),
        ...detail(warningsOf(operation)),
      ];
    },
  },
  {
    key: "submitted",
    title: "Submitted",
    isNumber: false,
    value: ({ created_at }) => Date.parse(created_at),
    cell: ({ created_at }) => [moment(created_at)],
  },
  {
    key: "duration",
    title: "Duration",
    isNumber: true,
    value: spanOf,
    cell: (operation) => {
      const span = spanOf(operation);
      return span === undefined ? [] : [duration(span)];
    },
  },
  {
    key: "tags",
    title: "Tags",
    isNumber: false,
    value: ({ tags }) => tags?.join(),
    cell: ({ tags = [] }) => tags.flatMap((tag) => [tagButton(tag), " "]),
  },
];

/** A tag that lists the runs with it when it is clicked. */
function tagButton(tag: string): HTMLElement {
  const attributes = { type: "button", class: "tag", "data-tag": tag, title: "List the runs with this tag" };
  return element("button", attributes, textElement(tag));
}

/** How the rows of a page are sorted. */
export interface RunOrder {
  readonly column: RunColumn;
  readonly isDescending: boolean;
}

/** Newest first, as the service lists them. */
export const NEWEST_FIRST: RunOrder = {
  column: RUN_COLUMNS.find(({ key }) => key === "submitted")!,
  isDescending: true,
};

/** The order that an address names, such as `ic` or `-ic`, which is descending. */
export function orderOf(text: string | null): RunOrder {
  const key = text?.replace(/^-/, "");
  const column = RUN_COLUMNS.find((each) => each.key === key);
  return column === undefined ? NEWEST_FIRST : { column, isDescending: text!.startsWith("-") };
}

export function orderText({ column, isDescending }: RunOrder): string {
  return `${isDescending ? "-" : ""}${column.key}`;
}

/** The order after a click on a column: its first one, then the reverse. */
export function orderAfter(order: RunOrder, column: RunColumn): RunOrder {
  if (order.column === column) return { column, isDescending: !order.isDescending };
  return { column, isDescending: column.isNumber || column === NEWEST_FIRST.column };
}

/** Runs without a value come last in either direction. Equal ones keep their order. */
export function sortedRuns(
  operations: readonly OperationView[],
  { column, isDescending }: RunOrder,
): OperationView[] {
  const sign = isDescending ? -1 : 1;
  return operations.toSorted((a, b) => {
    const [left, right] = [column.value(a), column.value(b)];
    if (left === undefined || right === undefined) {
      return Number(left === undefined) - Number(right === undefined);
    }
    return sign * compare(left, right);
  });
}

function compare(left: number | string, right: number | string): number {
  return typeof left === "number" && typeof right === "number"
    ? left - right
    : String(left).localeCompare(String(right), "en", { numeric: true });
}

/** Whether a run has all of these words in its id, kind, status, model, inputs, tags, verdict, or codes. */
export function matchesText(operation: OperationView, text: string): boolean {
  const { id, operation: kind, tags = [], summary, error, warning_counts = {}, status } = operation;
  const words = [id, kind, KINDS[kind] ?? "", status, modelOf(operation) ?? "", ...namesOf(operation)];
  const more = [...tags, summary?.verdict?.title ?? "", error?.code ?? "", ...Object.keys(warning_counts)];
  const all = [...words, ...more].join("\n").toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

function modelOf({ summary, model }: OperationView): string | undefined {
  if (summary === undefined) return model;
  return summary.fit === "pooled" ? `pooled ${summary.model}` : summary.model;
}

export function namesOf({ inputs }: OperationView): string[] {
  return [inputs?.feature, inputs?.data_extractor].filter((name) => name !== undefined);
}

/** The id that the names of both input blobs contain; undefined if they differ by more than their prefixes. */
export function sharedIdOf(names: readonly string[]): string | undefined {
  const [feature, prices] = names.map((name) => /^(feature_engine|data_extractor)_(.+)$/.exec(name));
  if (feature?.[1] !== "feature_engine" || prices?.[1] !== "data_extractor") return undefined;
  return feature[2] === prices[2] ? feature[2]!.replace(/\.json$/, "") : undefined;
}

/** What a run does now, or why it failed. */
function stateOf({ status, progress, error }: OperationView): Node | string | undefined {
  if (error !== null) return code(error.code);
  if (status !== "Running" || progress === null) return undefined;
  const { stage, done, total } = progress;
  const isShare = total !== null && total > 0;
  return `${stageWords(stage)}${isShare ? ` ${Math.floor((100 * done) / total)}\u202f%` : ""}`;
}

/** Maximum number of codes in a cell; the page of the operation has all. */
const MAX_CODES = 2;

/** Warnings by code, with their counts. The title of a verdict above them already says what `no_skill` does. */
function warningsOf({ warning_counts: counts = {}, summary }: OperationView): string | undefined {
  const codes = Object.entries(counts).filter(([name]) => name !== "no_skill" || summary?.verdict == null);
  if (codes.length === 0) return undefined;
  const named = codes
    .slice(0, MAX_CODES)
    .map(([name, count]) => (count === 1 ? name : `${name} (${figure(count, "count")})`));
  const more = codes.length - named.length;
  return `${named.join(", ")}${more > 0 ? ` and ${counted(more, "other code")}` : ""}`;
}

/** Milliseconds from the start of a run to its end. */
function spanOf({ started_at, finished_at }: OperationView): number | undefined {
  if (started_at === null || finished_at === null) return undefined;
  return Date.parse(finished_at) - Date.parse(started_at);
}

/** A second, smaller line of a cell. */
function detail(what: Node | string | undefined | false): readonly Child[] {
  if (what === undefined || what === false) return [];
  return [element("div", { class: "detail" }, typeof what === "string" ? textElement(what, 120) : what)];
}
