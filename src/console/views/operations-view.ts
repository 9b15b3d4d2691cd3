import type {
  OperationPage,
  OperationStatus,
  OperationView,
  SubmittedOperation,
} from "../../client/index.ts";
import { element, fill } from "../dom.ts";
import { worthOf } from "../run-worth.ts";
import { pause } from "../service-link.ts";
import type { View, ViewContext } from "../view.ts";
import {
  code,
  counted,
  duration,
  KINDS,
  moment,
  operationName,
  STATUSES,
  stageWords,
  statusBadge,
  textElement,
} from "../words.ts";

/** Maximum number of rows on the page, however many operations there are. */
const ROWS = 25;
const POLL_MS = 5_000;
/** Number of idle polls before the list is refreshed anyway. */
const MAX_IDLE_POLLS = 12;

const COLUMNS = ["Operation", "Status", "Submitted", "Duration", "Summary"];

/** The caller's operations, newest first, one page at a time. The address contains the filters and the page. */
export const showOperations: View = async (container, context) => {
  const list = new OperationList(context);
  await list.read();
  container.append(list.element);
  void list.follow();
};

class OperationList {
  readonly element = element("div");
  readonly #context: ViewContext;
  readonly #body = element("tbody");
  readonly #table = element("div", { class: "scroll" });
  readonly #pages = element("nav", { class: "pages", "aria-label": "Pages" });
  readonly #status = element("p", { class: "unseen", role: "status" });
  /** The visible rows, by the id of their operation. */
  #rows = new Map<string, { readonly element: HTMLTableRowElement; text: string }>();
  #reads = 0;
  #page: OperationPage = { operations: [], next_cursor: null };

  constructor(context: ViewContext) {
    this.#context = context;
    const head = element("tr", {}, ...COLUMNS.map((words) => element("th", { scope: "col" }, words)));
    fill(
      this.#table,
      element(
        "table",
        { class: "operations" },
        element("caption", { class: "unseen" }, "Operations, newest first"),
        element("thead", {}, head),
        this.#body,
      ),
    );
    this.element.append(this.#filters(), this.#table, this.#pages, this.#status);
  }

  /** Reads and shows the page that the filters and the cursor name. */
  async read(): Promise<void> {
    const { client, params, signal } = this.#context;
    this.#reads += 1;
    const read = this.#reads;
    const page = await client.listOperations({
      limit: ROWS,
      status: (params.get("status") as OperationStatus | null) ?? undefined,
      operation: (params.get("operation") as SubmittedOperation | null) ?? undefined,
      cursor: params.get("cursor") ?? undefined,
      signal,
    });
    // A filter has changed in the meantime.
    if (read !== this.#reads) return;
    this.#page = page;
    this.#show();
  }

  /** Reads the page again while an operation on it runs, or if the caller's queue has changed. */
  async follow(): Promise<void> {
    const { signal, queue } = this.#context;
    let seen = JSON.stringify(queue().own);
    for (let idle = 0; ; ) {
      await pause(POLL_MS, signal);
      if (signal.aborted) return;
      if (document.hidden) continue;
      const own = JSON.stringify(queue().own);
      const goesOn = this.#page.operations.some(({ finished_at }) => finished_at === null);
      idle += 1;
      if (!goesOn && own === seen && idle < MAX_IDLE_POLLS) continue;
      [idle, seen] = [0, own];
      // The frame says that the service is away; the page stays unchanged.
      await this.read().catch(() => undefined);
    }
  }

  #filters(): HTMLElement {
    const { params } = this.#context;
    const choose = (name: string, label: string, choices: readonly (readonly [string, string])[]) => {
      const options = [["", "all"] as const, ...choices].map(([value, words]) =>
        element("option", { value, selected: (params.get(name) ?? "") === value }, words),
      );
      const select = element("select", {}, ...options);
      select.addEventListener("change", () => void this.#filter(name, select.value));
      return element("label", {}, `${label} `, select);
    };
    return element(
      "form",
      { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
      choose("status", "Status", STATUSES),
      choose("operation", "Kind", Object.entries(KINDS)),
    );
  }

  /** Shows the newest page for the filters. It changes the address without a new view, which would move the focus. */
  async #filter(name: string, value: string): Promise<void> {
    const { params, notify, signal } = this.#context;
    params.delete("cursor");
    if (value === "") params.delete(name);
    else params.set(name, value);
    history.replaceState(null, "", this.#address());
    try {
      await this.read();
      this.#status.textContent = `${counted(this.#page.operations.length, "operation")} on this page`;
    } catch {
      if (!signal.aborted) notify("Could not refresh the list; it shows the previous state.", "failed");
    }
  }

  #address(cursor?: string): string {
    const params = new URLSearchParams(this.#context.params);
    params.delete("cursor");
    if (cursor !== undefined) params.set("cursor", cursor);
    return `#/operations${params.size === 0 ? "" : `?${params}`}`;
  }

  #show(): void {
    const { operations, next_cursor } = this.#page;
    this.#showRows(operations);
    const isFiltered = ["status", "operation", "cursor"].some((name) => this.#context.params.has(name));
    const none = isFiltered
      ? element("p", { class: "empty" }, "No operations match these filters.")
      : element(
          "p",
          { class: "empty" },
          "No operations yet. ",
          element("a", { href: "#/job" }, "Submit a job"),
        );
    this.#table.hidden = operations.length === 0;
    fill(
      this.#pages,
      operations.length === 0 && none,
      this.#context.params.has("cursor") && element("a", { href: this.#address() }, "Newest"),
      next_cursor !== null && element("a", { href: this.#address(next_cursor) }, "Older"),
    );
  }

  /** Unchanged rows stay in place and keep the focus. */
  #showRows(operations: readonly OperationView[]): void {
    const rows = new Map<string, { readonly element: HTMLTableRowElement; text: string }>();
    for (const operation of operations) {
      const { id } = operation;
      const row = this.#rows.get(id) ?? { element: element("tr"), text: "" };
      const text = JSON.stringify(operation);
      if (text !== row.text) fillRow(row.element, operation);
      rows.set(id, { element: row.element, text });
    }
    const isSame = [...rows.keys()].join() === [...this.#rows.keys()].join();
    this.#rows = rows;
    if (!isSame) fill(this.#body, ...[...rows.values()].map((row) => row.element));
  }
}

function fillRow(row: HTMLTableRowElement, operation: OperationView): void {
  const { id, status, created_at, started_at, finished_at } = operation;
  const focused = row.contains(document.activeElement);
  const link = element(
    "a",
    { href: `#/operations/${id}`, title: id },
    textElement(operationName(operation), 60),
  );
  const took =
    started_at !== null && finished_at !== null
      ? duration(Date.parse(finished_at) - Date.parse(started_at))
      : "";
  fill(
    row,
    element("th", { scope: "row" }, link),
    element("td", {}, statusBadge(status)),
    element("td", {}, moment(created_at)),
    element("td", {}, took),
    element("td", {}, summaryOf(operation)),
  );
  if (focused) link.focus();
}

/** A short summary of what an operation does, or of its result. */
function summaryOf({
  status,
  progress,
  error,
  warnings,
  warning_counts,
  failures = [],
  failure_counts,
  summary,
}: OperationView): Node | string {
  if (status === "Running" && progress !== null) {
    const { stage, done, total } = progress;
    const isShare = total !== null && total > 0;
    return `${stageWords(stage)}${isShare ? ` ${Math.floor((100 * done) / total)} %` : ""}`;
  }
  if (error !== null) return code(error.code);
  const words = [
    [countOf(failure_counts, failures), "failed ticker"] as const,
    [countOf(warning_counts, warnings), "warning"] as const,
  ].flatMap(([count, noun]) => (count === 0 ? [] : [counted(count, noun)]));
  return [...worthOf(summary), ...words].join(" · ");
}

/** The count of all, if known; otherwise the count of the listed ones. */
function countOf(counts: Readonly<Record<string, number>> | undefined, listed: readonly unknown[]): number {
  if (counts === undefined) return listed.length;
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
