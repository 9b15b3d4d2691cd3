import type { OperationView } from "../../client/index.ts";
import { closeName, summaryIc } from "../../contract/output/later-close.ts";
import { bandFigure, countedRows, figure, muRange, type Unit } from "../../view/figures.ts";
import { type Child, html } from "../../view/html.ts";
import type { Column } from "../../view/table.ts";
import { bdi, code, duration, moment } from "../../view/text.ts";
import { KINDS, kindOf, modelOf, STATUSES, stageWords, statusBadge } from "../words.ts";

/** A column of the table of runs. */
interface RunColumn extends Column<OperationView> {
  /** Its name in the address. */
  readonly key: string;
  readonly title: string;
  /** Whether it is sorted from the largest at first, as numbers and times are. */
  readonly isDescending?: boolean;
  /** The value to sort by; undefined if the run has none. */
  value(operation: OperationView): number | string | undefined | null;
}

type Verdict = NonNullable<NonNullable<OperationView["summary"]>["verdict"]>;

/** A column of a figure. @param value undefined for a run without it. @param more a second line of its cells. */
function figureColumn(
  key: string,
  title: string,
  unit: Unit,
  value: (run: OperationView) => number | undefined | null,
  more: (verdict: Verdict) => string | false | undefined = () => undefined,
): RunColumn {
  const cell = (run: OperationView) => {
    const [found, verdict] = [value(run), run.summary?.verdict];
    return found !== undefined && [figure(found, unit), detail(found !== null && verdict && more(verdict))];
  };
  return { key, kind: `${key} number`, title, isDescending: true, value, cell };
}

const verdictOf = ({ summary }: OperationView) => summary?.verdict ?? undefined;
const basisPoints = (value: number | null | undefined) => value && value / 1e4;
const KIND_ORDER = Object.keys(KINDS);
const STATUS_ORDER = STATUSES.map(([name]) => name);

/** The cells of each column have its key as a class. */
const COLUMNS: readonly RunColumn[] = [
  { key: "run", title: "Run", value: ({ operation }) => KIND_ORDER.indexOf(operation), cell: runCell },
  { key: "status", title: "Status", value: ({ status }) => STATUS_ORDER.indexOf(status), cell: statusCell },
  { key: "data", title: "Data", value: (run) => namesOf(run)[0], cell: dataCell },
  figureColumn(
    "ic",
    "IC",
    "ic",
    ({ summary }) => (summary?.verdict ? summaryIc(summary) : undefined),
    ({ ic_low: low, ic_high: high }) => low !== null && high !== null && bandFigure({ low, high }, "ic"),
  ),
  figureColumn(
    "later",
    "IC later",
    "ic",
    (run) => verdictOf(run)?.later?.ic,
    ({ later }) => later && later.delay > 1 && closeName(later.delay),
  ),
  figureColumn(
    "net",
    "Net a day",
    "mu",
    (run) => basisPoints(verdictOf(run)?.later?.net_5bp),
    ({ later }) =>
      later?.net_low != null && later.net_high != null && muRange(later.net_low / 1e4, later.net_high / 1e4),
  ),
  {
    key: "verdict",
    title: "Verdict",
    value: (run) => verdictOf(run)?.title,
    cell: verdictCell,
  },
  {
    key: "submitted",
    title: "Submitted",
    isDescending: true,
    value: ({ created_at }) => Date.parse(created_at),
    cell: ({ created_at, started_at, finished_at }) => [
      moment(created_at),
      started_at !== null &&
        finished_at !== null &&
        detail(`took ${duration(Date.parse(finished_at) - Date.parse(started_at))}`),
    ],
  },
  {
    key: "tags",
    title: "Tags",
    value: ({ tags }) => tags?.join(),
    cell: ({ tags = [] }) =>
      tags.map(
        (tag) =>
          html`<button type="button" class="tag" data-tag=${tag} title="List the runs with this tag">${bdi(tag)}</button>${" "}`,
      ),
  },
];

export const RUN_COLUMNS = COLUMNS.map((column): RunColumn => ({ kind: column.key, ...column }));

function runCell(run: OperationView): Child {
  const { id, operation } = run;
  const model = operation === "audit" || operation === "replay" ? undefined : modelOf(run);
  const kind = kindOf(operation);
  return html`<a href=${`#/operations/${id}`} title=${id}>${bdi(model ?? kind, 60)}
    <span class="detail">${model === undefined ? "" : `${kind} `}${id.slice(0, 8)}</span></a>`;
}

/** Its status, and what it does now, or why it failed. */
function statusCell({ status, progress, error }: OperationView): Child {
  if (error !== null) return [statusBadge(status), detail(code(error.code))];
  if (status !== "Running" || progress === null) return statusBadge(status);
  const { stage, done, total } = progress;
  const share = total ? ` ${Math.floor((100 * done) / total)}\u202f%` : "";
  return [statusBadge(status), detail(`${stageWords(stage)}${share}`)];
}

function dataCell(run: OperationView): Child {
  const { summary } = run;
  const names = namesOf(run);
  return [
    html`<div title=${names.join("\n")}>${bdi(dataName(run), 80)}</div>`,
    summary && detail(`${countedRows(summary.tickers, "ticker")}, ${summary.as_of}`),
    summary && summary.failed > 0 && detail(`${figure(summary.failed, "count")} failed`),
  ];
}

/** Maximum number of codes in a cell; the page of the operation has all. */
const MAX_CODES = 2;

/** The title of the verdict, and warnings by code with their counts: the title already says what `no_skill` does. */
function verdictCell(run: OperationView): Child {
  const title = verdictOf(run)?.title;
  const codes = Object.entries(run.warning_counts ?? {}).filter(
    ([name]) => name !== "no_skill" || title === undefined,
  );
  const named = codes.map(([name, count]) => (count === 1 ? name : `${name} (${figure(count, "count")})`));
  const more = codes.length > MAX_CODES ? ` and ${countedRows(codes.length - MAX_CODES, "other code")}` : "";
  const warnings = codes.length > 0 && `${named.slice(0, MAX_CODES).join(", ")}${more}`;
  return [title !== undefined && html`<div>${bdi(title, 80)}</div>`, detail(warnings)];
}

/** A second, smaller line of a cell. */
function detail(what: Child): Child {
  if (what === undefined || what === false) return undefined;
  return html`<div class="detail">${typeof what === "string" ? bdi(what, 120) : what}</div>`;
}

/** What a trade a close later earns after costs. */
export const TRADABLE_FIRST = "-net";

/** The order that an address names: the key of a column, with a minus sign if it is descending. */
export function orderOf(text: string | null): string {
  return RUN_COLUMNS.some(({ key }) => text === key || text === `-${key}`) ? text! : TRADABLE_FIRST;
}

/** The order after a click on a column: its first one, then the reverse. */
export function orderAfter(order: string, { key, isDescending = false }: RunColumn): string {
  const first = isDescending ? `-${key}` : key;
  if (order !== first) return first;
  return isDescending ? key : `-${key}`;
}

/** Runs without a value come last in either direction, but among the most tradable those that go on first. Equal ones keep their order. */
export function sortedRuns(operations: readonly OperationView[], order: string): OperationView[] {
  const sign = order.startsWith("-") ? -1 : 1;
  const { value } = RUN_COLUMNS.find(({ key }) => order.replace("-", "") === key)!;
  const rank = (run: OperationView) => {
    if (order === TRADABLE_FIRST && run.finished_at === null) return 0;
    return value(run) == null ? 2 : 1;
  };
  return operations.toSorted((a, b) => {
    const [left, right] = [value(a), value(b)];
    const ranks = rank(a) - rank(b);
    if (ranks !== 0 || left == null || right == null) return ranks;
    if (typeof left === "number" && typeof right === "number") return sign * (left - right);
    return sign * String(left).localeCompare(String(right), "en", { numeric: true });
  });
}

/** Whether a run has all of these words in its id, kind, status, model, inputs, tags, verdict, or codes. */
export function matchesText(run: OperationView, text: string): boolean {
  const { id, operation, tags = [], error, warning_counts = {}, status } = run;
  const words = [id, operation, kindOf(operation), status, modelOf(run), ...namesOf(run), ...tags];
  const all = [...words, verdictOf(run)?.title, error?.code, ...Object.keys(warning_counts)]
    .join("\n")
    .toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

function namesOf({ inputs }: OperationView): string[] {
  return [inputs?.feature, inputs?.data_extractor].filter((name) => name !== undefined);
}

/** The data of a run in words: the name that a person gave to both blobs, otherwise their names; empty for a replay. */
export function dataName(run: OperationView): string {
  const names = namesOf(run);
  const [feature, prices] = names.map(
    (name) => /^(?:feature_engine|data_extractor)_(.+)\.\w+$/.exec(name)?.[1],
  );
  return feature !== undefined && feature === prices ? feature : names.join(", ");
}
