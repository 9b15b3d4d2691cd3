import type { OperationView } from "../../../client/index.ts";
import { element, fill } from "../../dom.ts";
import { kindOf, textElement } from "../../words.ts";
import { orderAfter, RUN_COLUMNS, type RunColumn, type RunOrder } from "./run-columns.ts";

interface RunTableParts {
  /** Called with the order that the reader chooses. */
  readonly onOrder: (order: RunOrder) => void;
  /** Called with the tag that the reader clicks. */
  readonly onTag: (tag: string) => void;
  /** The box with which the reader chooses a run; undefined for one that cannot be chosen. */
  readonly boxOf: (operation: OperationView) => HTMLElement | undefined;
}

interface Row {
  readonly element: HTMLTableRowElement;
  /** What it shows, as JSON. */
  text: string;
}

/** The table of runs: a row for each, a column for each entry of RUN_COLUMNS. */
export class RunTable {
  readonly element: HTMLElement;
  readonly #body = element("tbody");
  readonly #heads: ReadonlyMap<RunColumn, HTMLElement>;
  readonly #boxOf: RunTableParts["boxOf"];
  #order: RunOrder | undefined;
  /** The visible rows, by the id of their operation. */
  #rows = new Map<string, Row>();

  constructor({ onOrder, onTag, boxOf }: RunTableParts) {
    this.#boxOf = boxOf;
    this.#heads = new Map(
      RUN_COLUMNS.map((column) => {
        const button = element("button", { type: "button", class: "sort" }, column.title);
        button.addEventListener("click", () => onOrder(orderAfter(this.#order!, column)));
        return [column, element("th", { scope: "col", class: classOf(column) }, button)];
      }),
    );
    this.#body.addEventListener("click", ({ target }) => {
      const tag = (target as Element).closest("button.tag")?.getAttribute("data-tag");
      if (tag != null) onTag(tag);
    });
    const table = element(
      "table",
      { class: "operations cards" },
      element("caption", { class: "unseen" }, "Runs; the headers of columns sort them"),
      element("thead", {}, element("tr", {}, chooseHead(), ...this.#heads.values())),
      this.#body,
    );
    const box = element("div", { class: "scroll" }, table);
    this.element = element("div", {}, overflowHint(box, table), box);
  }

  /** Shows these runs in this order. Unchanged rows stay in place and keep the focus. */
  show(operations: readonly OperationView[], order: RunOrder): void {
    this.#showOrder(order);
    const rows = new Map<string, Row>();
    for (const operation of operations) {
      const row = this.#rows.get(operation.id) ?? { element: element("tr"), text: "" };
      const text = JSON.stringify(operation);
      if (text !== row.text) fillRow(row.element, operation, this.#boxOf(operation));
      rows.set(operation.id, { element: row.element, text });
    }
    const isSame = [...rows.keys()].join() === [...this.#rows.keys()].join();
    this.#rows = rows;
    if (isSame) return;
    const focused = document.activeElement;
    fill(this.#body, ...[...rows.values()].map((row) => row.element));
    if (focused instanceof HTMLElement && this.#body.contains(focused)) focused.focus();
  }

  #showOrder(order: RunOrder): void {
    this.#order = order;
    for (const [column, head] of this.#heads) {
      if (column !== order.column) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", order.isDescending ? "descending" : "ascending");
    }
  }
}

/** Says that there are more columns, while the table is wider than its box. */
function overflowHint(box: HTMLElement, table: HTMLElement): HTMLElement {
  const hint = element("p", { class: "hint", hidden: true }, "Scroll the table sideways for more columns.");
  const observer = new ResizeObserver(() => {
    hint.hidden = box.scrollWidth <= box.clientWidth;
  });
  for (const observed of [box, table]) observer.observe(observed);
  return hint;
}

function chooseHead(): HTMLElement {
  return element("th", { scope: "col" }, element("span", { class: "unseen" }, "Compare"));
}

function fillRow(row: HTMLTableRowElement, operation: OperationView, box: HTMLElement | undefined): void {
  const focused = document.activeElement;
  const isFocused = row.contains(focused);
  const { id } = operation;
  const link = element(
    "a",
    { href: `#/operations/${id}`, title: id },
    textElement(kindOf(operation.operation), 60),
    " ",
    element("span", { class: "detail" }, id.slice(0, 8)),
  );
  const [, ...columns] = RUN_COLUMNS;
  fill(
    row,
    element("td", { class: "choose" }, box),
    element("th", { scope: "row" }, link),
    ...columns.map((column) =>
      element("td", { class: classOf(column), "data-title": column.title }, ...column.cell(operation)),
    ),
  );
  if (isFocused) (focused === box ? box : link).focus();
}

function classOf({ key, isNumber }: RunColumn): string {
  return isNumber ? `${key} number` : key;
}
