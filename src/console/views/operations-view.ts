import type {
  OperationPage,
  OperationStatus,
  OperationView,
  SubmittedOperation,
} from "../../client/index.ts";
import { element, fill } from "../dom.ts";
import { pause } from "../pause.ts";
import { shown } from "../shown-text.ts";
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
} from "../words.ts";

/** Rows of a page: the page never holds more, however many operations there are. */
const ROWS = 25;
const LOOK_MS = 5_000;
/** Looks without an operation that goes on, until the page is read again all the same. */
const IDLE_LOOKS = 12;

const COLUMNS = ["Operation", "Status", "Submitted", "Duration", "Summary"];

/** The caller's operations, newest first, a page at a time. The address holds the filters and the page. */
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
  readonly #said = element("p", { class: "unseen", role: "status" });
  /** The rows that are shown, by the id of their operation. */
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
    this.element.append(this.#filters(), this.#table, this.#pages, this.#said);
  }

  /** Reads the page that the filters and the cursor name, and shows it. */
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
    // A filter has been changed meanwhile.
    if (read !== this.#reads) return;
    this.#page = page;
    this.#show();
  }

  /** Reads the page again while something on it goes on, or where the caller's queue has changed. */
  async follow(): Promise<void> {
    const { signal, queue } = this.#context;
    let seen = JSON.stringify(queue().own);
    for (let idle = 0; ; ) {
      await pause(LOOK_MS, signal);
      if (signal.aborted) return;
      if (document.hidden) continue;
      const own = JSON.stringify(queue().own);
      const goesOn = this.#page.operations.some(({ finished_at }) => finished_at === null);
      idle += 1;
      if (!goesOn && own === seen && idle < IDLE_LOOKS) continue;
      [idle, seen] = [0, own];
      // The frame says that the service is away; the page stays as it was.
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

  /** The newest page of what is asked for; the address says so without a new view, which would move the focus. */
  async #filter(name: string, value: string): Promise<void> {
    const { params, notify, signal } = this.#context;
    params.delete("cursor");
    if (value === "") params.delete(name);
    else params.set(name, value);
    history.replaceState(null, "", this.#address());
    try {
      await this.read();
      this.#said.textContent = `${counted(this.#page.operations.length, "operation")} on this page`;
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

  /** Rows that stay the same stay where they are, with the focus in them. */
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
  const link = element("a", { href: `#/operations/${id}`, title: id }, shown(operationName(operation), 60));
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
    element("td", {}, whatOf(operation)),
  );
  if (focused) link.focus();
}

/** In a few words what an operation does, or what has become of it. */
function whatOf({
  status,
  progress,
  error,
  warnings,
  warning_counts,
  failures = [],
  failure_counts,
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
  return words.join(", ");
}

/** Of all, where they are counted; else of those that are listed. */
function countOf(counts: Readonly<Record<string, number>> | undefined, listed: readonly unknown[]): number {
  if (counts === undefined) return listed.length;
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
