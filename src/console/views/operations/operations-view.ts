import type { OperationPage, OperationStatus, SubmittedOperation } from "../../../client/index.ts";
import { element, fill } from "../../dom.ts";
import { errorWords } from "../../problem.ts";
import { pause } from "../../service-link.ts";
import type { View, ViewContext } from "../../view.ts";
import { counted } from "../../words.ts";
import { ChosenRuns } from "./chosen-runs.ts";
import { emptyList } from "./empty-list.ts";
import { ListFilters } from "./list-filters.ts";
import { matchesText, orderOf, orderText, sortedRuns } from "./run-columns.ts";
import { RunTable } from "./run-table.ts";

/** Maximum number of rows on the page, however many operations there are. */
const ROWS = 25;
const POLL_MS = 5_000;
/** Number of idle polls before the list is refreshed anyway. */
const MAX_IDLE_POLLS = 12;

/**
 * The caller's operations, one page at a time, newest first as the service lists them. The reader sorts and searches the rows of a page. The
 * address contains the filters, the order and the page.
 */
export const showOperations: View = async (container, context) => {
  const list = new OperationList(context);
  await list.read();
  container.append(list.element);
  void list.follow();
};

class OperationList {
  readonly element = element("div");
  readonly #context: ViewContext;
  readonly #filters: ListFilters;
  readonly #table: RunTable;
  readonly #chosen: ChosenRuns;
  readonly #pages = element("nav", { class: "pages", "aria-label": "Pages" });
  readonly #status = element("p", { class: "unseen", role: "status" });
  #reads = 0;
  #page: OperationPage = { operations: [], next_cursor: null };

  constructor(context: ViewContext) {
    this.#context = context;
    const { params } = context;
    this.#filters = new ListFilters({
      params,
      onFilter: () => void this.#filter(),
      onShown: () => this.#arrange(),
    });
    this.#table = new RunTable({
      onOrder: (order) => {
        params.set("sort", orderText(order));
        this.#filters.show();
        this.#arrange();
      },
      onTag: (tag) => this.#filters.addTag(tag),
      boxOf: (operation) => this.#chosen.boxOf(operation),
    });
    this.#chosen = new ChosenRuns(context);
    this.element.append(
      this.#filters.element,
      this.#chosen.element,
      this.#table.element,
      this.#pages,
      this.#status,
    );
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
      tag: params.getAll("tag"),
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

  /** Shows the newest page for the filters. It changes the address without a new view, which would move the focus. */
  async #filter(): Promise<void> {
    const { params, notify, signal } = this.#context;
    params.delete("cursor");
    history.replaceState(null, "", this.#address());
    try {
      await this.read();
      this.#status.textContent = `${counted(this.#page.operations.length, "operation")} on this page`;
    } catch (error) {
      const words = `Could not refresh the list; it shows the previous state. ${errorWords(error)}`;
      if (!signal.aborted) notify(words, "failed");
    }
  }

  /** Shows the rows of the page as the text and the order of the address say. */
  #arrange(): void {
    history.replaceState(null, "", this.#address(this.#context.params.get("cursor") ?? undefined));
    const shown = this.#show();
    this.#status.textContent = `${counted(shown, "operation")} shown`;
  }

  #address(cursor?: string): string {
    const params = new URLSearchParams(this.#context.params);
    params.delete("cursor");
    if (cursor !== undefined) params.set("cursor", cursor);
    return `#/operations${params.size === 0 ? "" : `?${params}`}`;
  }

  /** @returns the number of rows. */
  #show(): number {
    const { operations, next_cursor } = this.#page;
    const { params } = this.#context;
    const order = orderOf(params.get("sort"));
    const text = params.get("text") ?? "";
    const shown = sortedRuns(
      operations.filter((operation) => matchesText(operation, text)),
      order,
    );
    this.#table.show(shown, order);
    this.#table.element.hidden = shown.length === 0;
    this.#chosen.element.hidden = operations.length === 0;
    fill(
      this.#pages,
      shown.length === 0 && this.#noneElement(operations.length),
      params.has("cursor") && element("a", { href: this.#address() }, "Newest"),
      next_cursor !== null && element("a", { href: this.#address(next_cursor) }, "Older"),
    );
    return shown.length;
  }

  #noneElement(onPage: number): HTMLElement {
    if (onPage > 0) return element("p", { class: "empty" }, "No operation on this page contains this text.");
    if (this.#filters.isFiltered)
      return element("p", { class: "empty" }, "No operations match these filters.");
    return emptyList(this.#context);
  }
}
