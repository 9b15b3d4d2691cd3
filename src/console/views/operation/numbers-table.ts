import { type Child, element } from "../../dom.ts";

interface NumbersTable {
  /** Of the box that scrolls, for screen readers. */
  readonly name: string;
  readonly columns: readonly string[];
  /** The header of each row, and its cells. */
  readonly rows: readonly { readonly header: Child; readonly cells: readonly Child[] }[];
}

/** A table of numbers in a box that scrolls, with a header for each row. */
export function numbersTable({ name, columns, rows }: NumbersTable): HTMLElement {
  const head = columns.map((column) => element("th", { scope: "col" }, column));
  const body = rows.map(({ header, cells }) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, header),
      ...cells.map((cell) => element("td", {}, cell)),
    ),
  );
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": name },
    element(
      "table",
      { class: "numbers" },
      element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...body),
    ),
  );
}
