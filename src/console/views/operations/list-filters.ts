import { TAG_LIMITS, TAG_PATTERN } from "../../../contract/config/limits.ts";
import { element, fill } from "../../dom.ts";
import { KINDS, STATUSES, textElement } from "../../words.ts";
import { orderOf, orderText, RUN_COLUMNS } from "./run-columns.ts";

interface FilterParts {
  readonly params: URLSearchParams;
  /** Called after a parameter has changed that the service filters by. */
  readonly onFilter: () => void;
  /** Called after a parameter has changed that concerns only the rows on the page. */
  readonly onShown: () => void;
}

/** The controls above the table. They keep their values in the parameters of the address. */
export class ListFilters {
  readonly element: HTMLElement;
  readonly #parts: FilterParts;
  readonly #tags = element("span", { class: "tags" });
  readonly #order: HTMLSelectElement;

  constructor(parts: FilterParts) {
    this.#parts = parts;
    this.#order = this.#orderSelect();
    this.element = element(
      "form",
      { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
      this.#choose("status", "Status", STATUSES),
      this.#choose("operation", "Kind", Object.entries(KINDS)),
      element("label", {}, "Tag ", this.#tagInput()),
      element("label", {}, "Text ", this.#textInput()),
      element("label", { class: "order" }, "Sort by ", this.#order),
      this.#tags,
    );
    this.show();
  }

  /** Whether any filter of the service is set. */
  get isFiltered(): boolean {
    return ["status", "operation", "tag", "cursor"].some((name) => this.#parts.params.has(name));
  }

  /** Lists the runs that also have this tag. */
  addTag(tag: string): void {
    const { params, onFilter } = this.#parts;
    const tags = params.getAll("tag");
    if (tags.includes(tag) || tags.length === TAG_LIMITS.tags) return;
    params.append("tag", tag);
    this.show();
    onFilter();
  }

  /** Shows the order and the tags of the address. */
  show(): void {
    const { params } = this.#parts;
    this.#order.value = orderText(orderOf(params.get("sort")));
    const tags = params.getAll("tag").map((tag) => {
      const button = element("button", { type: "button", class: "tag" }, textElement(tag), " \u00d7");
      button.setAttribute("aria-label", `Remove the filter by tag ${tag}`);
      button.addEventListener("click", () => this.#removeTag(tag));
      return button;
    });
    fill(this.#tags, ...tags);
  }

  #removeTag(tag: string): void {
    const { params, onFilter } = this.#parts;
    params.delete("tag", tag);
    this.show();
    (this.#tags.querySelector("button") ?? this.element.querySelector("input"))?.focus();
    onFilter();
  }

  #choose(name: string, label: string, choices: readonly (readonly [string, string])[]): HTMLElement {
    const { params, onFilter } = this.#parts;
    const options = [["", "all"] as const, ...choices].map(([value, words]) =>
      element("option", { value, selected: (params.get(name) ?? "") === value }, words),
    );
    const select = element("select", {}, ...options);
    select.addEventListener("change", () => {
      setParam(params, name, select.value);
      onFilter();
    });
    return element("label", {}, `${label} `, select);
  }

  #tagInput(): HTMLElement {
    const title = `1 to ${TAG_LIMITS.characters} printable ASCII characters`;
    const attributes = {
      type: "text",
      autocomplete: "off",
      spellcheck: "false",
      pattern: TAG_PATTERN,
      title,
    };
    const input = element("input", { ...attributes, placeholder: "Add a tag" });
    input.addEventListener("change", () => {
      input.value = input.value.trim();
      if (input.value === "" || !input.reportValidity()) return;
      this.addTag(input.value);
      input.value = "";
    });
    return input;
  }

  #textInput(): HTMLElement {
    const { params, onShown } = this.#parts;
    const input = element("input", {
      type: "search",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "In these rows",
    });
    input.value = params.get("text") ?? "";
    input.addEventListener("input", () => {
      setParam(params, "text", input.value.trim());
      onShown();
    });
    return input;
  }

  /** The same as the headers of the columns, which a narrow page does not have. */
  #orderSelect(): HTMLSelectElement {
    const { params, onShown } = this.#parts;
    const options = RUN_COLUMNS.flatMap((column) =>
      [true, false].map((isDescending) => {
        const words = `${column.title}, ${isDescending ? "descending" : "ascending"}`;
        return element("option", { value: orderText({ column, isDescending }) }, words);
      }),
    );
    const select = element("select", {}, ...options);
    select.addEventListener("change", () => {
      setParam(params, "sort", select.value);
      onShown();
    });
    return select;
  }
}

function setParam(params: URLSearchParams, name: string, value: string): void {
  if (value === "") params.delete(name);
  else params.set(name, value);
}
