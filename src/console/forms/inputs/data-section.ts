import type { RawJson } from "../../../contract/json/json-text.ts";
import { figure } from "../../../view/figures.ts";
import { element, fill } from "../../dom.ts";
import { errorWords } from "../../problem.ts";
import type { ViewContext } from "../../view.ts";
import { bytes, counted, moment, textElement } from "../../words.ts";
import { faultLine, newId } from "../fields/field-control.ts";
import { reveal } from "../fields/folds.ts";
import { storeExample } from "./example-data.ts";
import { makeInputs, type ReadyInputs } from "./input-forms.ts";
import { type StoredSet, setsOf, storedAt } from "./stored-sets.ts";

/** Sets that the reader sees without unfolding the older ones. */
const MAX_SHOWN = 5;
/** Blobs of each kind that are listed, as many as a page of the service has. */
const MAX_LISTED = 100;

interface DataSectionParts {
  readonly context: ViewContext;
  /** Called with the set that the reader chooses. */
  readonly onChosen: (inputs: ReadyInputs) => void;
  /** Called with inputs that the reader has added. */
  readonly onStored: (inputs: ReadyInputs) => void;
}

/** The choice of a job's inputs: the stored sets, newest first, and the ways to add one. */
export class DataSection {
  readonly element: HTMLElement;
  readonly #parts: DataSectionParts;
  readonly #group = newId();
  readonly #list = element("div");
  readonly #fault = faultLine(newId());
  #items: readonly SetItem[] = [];
  /** The URLs of the form. */
  #urls: readonly (RawJson | undefined)[] = [];

  private constructor(parts: DataSectionParts) {
    this.#parts = parts;
    this.element = element(
      "fieldset",
      { class: "group data" },
      element("legend", {}, "Data"),
      this.#fault.element,
      this.#list,
    );
    this.#fault.element.tabIndex = -1;
  }

  static async open(parts: DataSectionParts): Promise<DataSection> {
    const section = new DataSection(parts);
    await section.#read();
    section.element.append(
      element(
        "details",
        { class: "inputs", open: section.#items.length === 0 },
        element("summary", {}, "Add data: a file of prices, or input blobs"),
        makeInputs(parts.context, (inputs) => section.#stored(inputs)),
      ),
    );
    return section;
  }

  /** Marks the set with these URLs as chosen. @returns whether there is one. */
  show(feature: RawJson | undefined, prices: RawJson | undefined): boolean {
    this.#urls = [feature, prices];
    if (this.#urls.some((url) => url !== undefined)) this.#fault.show([]);
    this.#mark();
    return this.#items.some(({ radio }) => radio.checked);
  }

  /** Says that the reader has to choose data before anything else. */
  ask(): void {
    this.#fault.show(["Choose data first."]);
    this.#fault.element.focus();
  }

  async #read(): Promise<void> {
    const { context } = this.#parts;
    try {
      this.#showSets(await readSets(context));
    } catch (error) {
      context.signal.throwIfAborted();
      const words = `Stored inputs could not be listed. ${errorWords(error)}`;
      fill(this.#list, element("p", { class: "hint" }, words));
    }
  }

  #stored(inputs: ReadyInputs): void {
    this.#parts.onStored(inputs);
    // It rejects only after the reader has left.
    void this.#read().catch(() => undefined);
  }

  #showSets(sets: readonly StoredSet[]): void {
    this.#items = sets.map((set) => setItem(set, this.#group, this.#parts.onChosen));
    const elements = this.#items.map((item) => item.element);
    const older = elements.slice(MAX_SHOWN);
    fill(
      this.#list,
      sets.length === 0 && this.#noSets(),
      ...elements.slice(0, MAX_SHOWN),
      older.length > 0 &&
        element("details", {}, element("summary", {}, counted(older.length, "older set")), ...older),
    );
    this.#mark();
  }

  #mark(): void {
    for (const { set, element: item, radio } of this.#items) {
      radio.checked = set.features.url === this.#urls[0] && set.prices.url === this.#urls[1];
      if (radio.checked) reveal(item);
    }
  }

  #noSets(): HTMLElement {
    const { context } = this.#parts;
    const button = element("button", { type: "button" }, "Use the example data");
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        this.#stored(await storeExample(context));
      } catch (error) {
        button.disabled = false;
        if (!context.signal.aborted)
          context.notify(`The example data could not be stored. ${errorWords(error)}`, "failed");
      }
    });
    const words = element("span", { class: "hint" }, "No inputs are stored yet.");
    return element("p", { class: "beside" }, words, button);
  }
}

async function readSets({ client, signal }: ViewContext): Promise<readonly StoredSet[]> {
  const [features, prices] = await Promise.all(
    (["features", "prices"] as const).map((kind) => client.listBlobs({ kind, limit: MAX_LISTED, signal })),
  );
  return setsOf(features!.blobs, prices!.blobs);
}

interface SetItem {
  readonly set: StoredSet;
  readonly element: HTMLElement;
  readonly radio: HTMLInputElement;
}

function setItem(set: StoredSet, group: string, onChosen: (inputs: ReadyInputs) => void): SetItem {
  const { id, features, prices } = set;
  const radio = element("input", { type: "radio", name: group, value: id });
  radio.addEventListener("change", () =>
    onChosen({ feature_url: features.url, data_extractor_url: prices.url }),
  );
  const words = element(
    "span",
    {},
    textElement(id),
    element("span", { class: "hint" }, `${contentsWords(set)}. Stored `, moment(storedAt(set)), "."),
  );
  return { set, radio, element: element("label", { class: "check set" }, radio, words) };
}

/** What is known of both blobs: tickers and span if the service has prepared them, otherwise the size. */
function contentsWords({ features, prices }: StoredSet): string {
  const { ticker_count, dates, start, end } = { ...prices, ...features };
  const sizes = [features.size, prices.size];
  const size = sizes.every((each) => each !== null)
    ? bytes(sizes.reduce((sum, each) => sum! + each!, 0)!)
    : "";
  const span = start === undefined || end === undefined ? "" : `${start} to ${end}`;
  const known = [
    ticker_count === undefined ? "" : counted(ticker_count, "ticker"),
    dates === undefined ? span : `${span} (${figure(dates, "count")} dates)`,
    size,
  ];
  return known.filter((words) => words !== "").join(", ");
}
