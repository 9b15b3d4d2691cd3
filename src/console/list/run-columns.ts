import type { OperationView } from "../../client/index.ts";
import { closeName, summaryIc } from "../../contract/output/later-close.ts";
import { bandFigure, countedRows, figure, muRange, type Unit } from "../../view/figures.ts";
import { type Child, html } from "../../view/html.ts";
import type { Column } from "../../view/table.ts";
import { bdi, code, duration, moment } from "../../view/text.ts";
import { KINDS, kindOf, modelOf, STATUSES, stageWords, statusBadge } from "../words.ts";

/** A column of the table of runs. */
export interface RunColumn extends Column<OperationView> {
  /** Its name in the address. */
  readonly key: string;
  readonly title: string;
  /** Numbers are aligned to the right, and sorted from the largest at first. */
  readonly isNumber?: boolean;
  /** The value to sort by; undefined if the run has none. */
  value(operation: OperationView): number | string | undefined | null;
}

type Summary = NonNullable<OperationView["summary"]>;
type Verdict = NonNullable<Summary["verdict"]>;
type Read<T> = (verdict: Verdict, summary: Summary) => T;

/** A column of a figure of the verdict's headline. @param more a second line of its cells. */
function figureColumn(
  key: string,
  title: string,
  unit: Unit,
  value: Read<number | null | undefined>,
  more: Read<string | false> = () => false,
): RunColumn {
  const read = ({ summary }: OperationView) =>
    summary?.verdict ? value(summary.verdict, summary) : undefined;
  const cell = (run: OperationView) => {
    const found = read(run);
    const { summary } = run;
    return (
      found !== undefined && [
        figure(found, unit),
        detail(found !== null && more(summary!.verdict!, summary!)),
      ]
    );
  };
  return { key, kind: `${key} number`, title, isNumber: true, value: read, cell };
}

/** @param onTag is called with the tag that the reader clicks. */
export function runColumns(onTag?: (tag: string) => void): readonly RunColumn[] {
  const columns: readonly (Omit<RunColumn, "kind"> & { readonly kind?: string })[] = [
    { key: "run", title: "Run", value: ({ operation }) => KIND_ORDER.indexOf(operation), cell: runCell },
    { key: "status", title: "Status", value: ({ status }) => STATUS_ORDER.indexOf(status), cell: statusCell },
    { key: "data", title: "Data", value: (run) => namesOf(run)[0], cell: dataCell },
    figureColumn(
      "ic",
      "IC",
      "ic",
      (_, summary) => summaryIc(summary),
      ({ ic_low: low, ic_high: high }) => low !== null && high !== null && bandFigure({ low, high }, "ic"),
    ),
    figureColumn(
      "later",
      "IC later",
      "ic",
      ({ later }) => later?.ic,
      ({ later }) => later!.delay > 1 && closeName(later!.delay),
    ),
    figureColumn(
      "net",
      "Net a day",
      "mu",
      ({ later }) => later?.net_5bp && later.net_5bp / 1e4,
      ({ later }) =>
        later?.net_low != null &&
        later.net_high != null &&
        muRange(later.net_low / 1e4, later.net_high / 1e4),
    ),
    figureColumn("r2", "R²", "r2", ({ r2 }) => r2),
    figureColumn(
      "coverage",
      "Coverage",
      "coverage",
      ({ coverage }) => coverage,
      ({ nominal_coverage: nominal }) => `of ${figure(nominal, "coverage")}`,
    ),
    { key: "verdict", title: "Verdict", value: ({ summary }) => summary?.verdict?.title, cell: verdictCell },
    {
      key: "submitted",
      title: "Submitted",
      value: ({ created_at }) => Date.parse(created_at),
      cell: submittedCell,
    },
    {
      key: "tags",
      title: "Tags",
      value: ({ tags }) => tags?.join(),
      cell: ({ tags = [] }) => tags.map(tagButton(onTag)),
    },
  ];
  return columns.map((column) => ({ kind: column.key, ...column }));
}

const KIND_ORDER = Object.keys(KINDS);
const STATUS_ORDER = STATUSES.map(([name]) => name);

function tagButton(onTag: ((tag: string) => void) | undefined) {
  return (
    tag: string,
  ) => html`<button type="button" class="tag" data-tag=${tag} title="List the runs with this tag"
    onClick=${() => onTag?.(tag)}>${bdi(tag)}</button>${" "}`;
}

/** Its status, and what it does now, or why it failed. */
function statusCell({ status, progress, error }: OperationView): Child {
  if (error !== null) return [statusBadge(status), detail(code(error.code))];
  if (status !== "Running" || progress === null) return statusBadge(status);
  const { stage, done, total } = progress;
  const share = total ? ` ${Math.floor((100 * done) / total)}\u202f%` : "";
  return [statusBadge(status), detail(`${stageWords(stage)}${share}`)];
}

function submittedCell({ created_at, started_at, finished_at }: OperationView): Child {
  if (started_at === null || finished_at === null) return moment(created_at);
  return [moment(created_at), detail(`took ${duration(Date.parse(finished_at) - Date.parse(started_at))}`)];
}

/** Maximum number of codes in a cell; the page of the operation has all. */
const MAX_CODES = 2;

/** The title of the verdict, and warnings by code with their counts: the title already says what `no_skill` does. */
function verdictCell({ warning_counts: counts = {}, summary }: OperationView): Child {
  const title = summary?.verdict?.title;
  const codes = Object.entries(counts).filter(([name]) => name !== "no_skill" || title === undefined);
  const named = codes.map(([name, count]) => (count === 1 ? name : `${name} (${figure(count, "count")})`));
  const more = codes.length > MAX_CODES ? ` and ${countedRows(codes.length - MAX_CODES, "other code")}` : "";
  const warnings = codes.length > 0 && `${named.slice(0, MAX_CODES).join(", ")}${more}`;
  return [title !== undefined && html`<div>${bdi(title, 80)}</div>`, detail(warnings)];
}

function runCell(run: OperationView): Child {
  const { id, operation } = run;
  const model = operation === "audit" || operation === "replay" ? undefined : modelOf(run);
  const kind = kindOf(operation);
  return html`<a href=${`#/operations/${id}`} title=${id}>${bdi(model ?? kind, 60)}
    <span class="detail">${model === undefined ? "" : `${kind} `}${id.slice(0, 8)}</span></a>`;
}

function dataCell(run: OperationView): Child {
  const { summary } = run;
  const names = namesOf(run);
  const id = sharedIdOf(names);
  return [
    id === undefined
      ? names.map((name) => html`<div>${bdi(name, 80)}</div>`)
      : html`<div title=${names.join("\n")}>${bdi(id, 80)}</div>`,
    summary && detail(`${countedRows(summary.tickers, "ticker")}, ${summary.as_of}`),
    summary && summary.failed > 0 && detail(`${figure(summary.failed, "count")} failed`),
  ];
}

/** A second, smaller line of a cell. */
function detail(what: Child): Child {
  if (what === undefined || what === false) return undefined;
  return html`<div class="detail">${typeof what === "string" ? bdi(what, 120) : what}</div>`;
}

export interface RunOrder {
  /** Of a column. */
  readonly key: string;
  readonly isDescending: boolean;
}

/** What a trade a close later earns after costs. */
export const TRADABLE_FIRST: RunOrder = { key: "net", isDescending: true };

/** The order that an address names, such as `ic` or `-ic`, which is descending. */
export function orderOf(text: string | null): RunOrder {
  const key = text?.replace(/^-/, "") ?? "";
  return runColumns().some((each) => each.key === key)
    ? { key, isDescending: text!.startsWith("-") }
    : TRADABLE_FIRST;
}

export function orderText({ key, isDescending }: RunOrder): string {
  return `${isDescending ? "-" : ""}${key}`;
}

/** The order after a click on a column: its first one, then the reverse. */
export function orderAfter(
  order: RunOrder,
  { key, isNumber = false }: Pick<RunColumn, "key" | "isNumber">,
): RunOrder {
  if (order.key === key) return { key, isDescending: !order.isDescending };
  return { key, isDescending: isNumber || key === "submitted" };
}

/** Runs without a value come last in either direction, but among the most tradable those that go on first. Equal ones keep their order. */
export function sortedRuns(operations: readonly OperationView[], order: RunOrder): OperationView[] {
  const sign = order.isDescending ? -1 : 1;
  const { value } = runColumns().find(({ key }) => key === order.key)!;
  const isFirst = ({ finished_at }: OperationView) =>
    order.key === TRADABLE_FIRST.key && order.isDescending && finished_at === null;
  return operations.toSorted((a, b) => {
    if (isFirst(a) !== isFirst(b)) return isFirst(a) ? -1 : 1;
    const [left, right] = [value(a) ?? undefined, value(b) ?? undefined];
    if (left === undefined || right === undefined)
      return Number(left === undefined) - Number(right === undefined);
    return sign * compare(left, right);
  });
}

function compare(left: number | string, right: number | string): number {
  return typeof left === "number" && typeof right === "number"
    ? left - right
    : String(left).localeCompare(String(right), "en", { numeric: true });
}

/** Whether a run has all of these words in its id, kind, status, model, inputs, tags, verdict, or codes. */
export function matchesText(run: OperationView, text: string): boolean {
  const { id, operation, tags = [], summary, error, warning_counts = {}, status } = run;
  const words = [id, operation, kindOf(operation), status, modelOf(run) ?? "", ...namesOf(run), ...tags];
  const more = [summary?.verdict?.title ?? "", error?.code ?? "", ...Object.keys(warning_counts)];
  const all = [...words, ...more].join("\n").toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

function namesOf({ inputs }: OperationView): string[] {
  return [inputs?.feature, inputs?.data_extractor].filter((name) => name !== undefined);
}

/** The name that a person gave to both input blobs; undefined if they differ by more than their prefixes. */
export function sharedIdOf(names: readonly string[]): string | undefined {
  const [feature, prices] = names.map((name) => /^(feature_engine|data_extractor)_(.+)$/.exec(name));
  if (feature?.[1] !== "feature_engine" || prices?.[1] !== "data_extractor") return undefined;
  return feature[2] === prices[2] ? feature[2]!.replace(/\.(?:json|parquet)$/, "") : undefined;
}

/** The data of a run in words; empty for a replay. */
export function dataName(run: OperationView): string {
  const names = namesOf(run);
  return sharedIdOf(names) ?? names.join(", ");
}
