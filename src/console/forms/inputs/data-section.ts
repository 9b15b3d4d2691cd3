import type { RawJson } from "../../../contract/json/json-text.ts";
import { figure } from "../../../report/figures.ts";
import { element, fill } from "../../dom.ts";
import { errorWords } from "../../problem.ts";
import type { ViewContext } from "../../view.ts";
import { bytes, counted, moment, textElement } from "../../words.ts";
import { newId } from "../fields/field-control.ts";
import { reveal } from "../fields/folds.ts";
import { storeExample } from "./example-data.ts";
import { makeInputs, type ReadyInputs } from "./input-forms.ts";
import { type StoredSet, setsOf, storedAt } from "./stored-sets.ts";

/** Sets that the reader sees without unfolding the older ones. */
const MAX_SHOWN = 5;
/** Blobs of each kind that are listed, as many as a page of the service has. */
const MAX_LISTED = 100;

/** The choice of a job's inputs. */
export interface DataSection {
  readonly element: HTMLElement;
  /** Marks the set with these URLs as chosen. @returns whether there is one. */
  show(feature: RawJson | undefined, prices: RawJson | undefined): boolean;
}

/**
 * The stored sets of inputs, newest first, and the ways to add one.
 * @param onChosen called with the set that the reader chooses. @param onStored called with inputs that the reader has added.
 */
export async function makeDataSection(
  context: ViewContext,
  onChosen: (inputs: ReadyInputs) => void,
  onStored: (inputs: ReadyInputs) => void,
): Promise<DataSection> {
  const group = newId();
  const list = element("div");
  let sets: readonly StoredSet[] = [];
  let chosen: readonly [RawJson | undefined, RawJson | undefined] = [undefined, undefined];
  const isChosen = ({ features, prices }: StoredSet) =>
    features.url === chosen[0] && prices.url === chosen[1];
  const noSets = () => {
    const button = element("button", { type: "button" }, "Use the example data");
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        stored(await storeExample(context));
      } catch (error) {
        button.disabled = false;
        if (!context.signal.aborted)
          context.notify(`The example data could not be stored. ${errorWords(error)}`, "failed");
      }
    });
    return element(
      "p",
      { class: "beside" },
      element("span", { class: "hint" }, "No inputs are stored yet."),
      button,
    );
  };
  const stored = (inputs: ReadyInputs) => {
    onStored(inputs);
    void read().catch(() => undefined);
  };
  let items: readonly SetItem[] = [];
  const mark = () => {
    for (const { set, element: item, radio } of items) {
      radio.checked = isChosen(set);
      if (radio.checked) reveal(item);
    }
  };
  const showSets = () => {
    items = sets.map((set) => setItem(set, group, onChosen));
    const elements = items.map((item) => item.element);
    const older = elements.slice(MAX_SHOWN);
    fill(
      list,
      sets.length === 0 && noSets(),
      ...elements.slice(0, MAX_SHOWN),
      older.length > 0 &&
        element("details", {}, element("summary", {}, counted(older.length, "older set")), ...older),
    );
    mark();
  };
  const read = async () => {
    try {
      sets = await readSets(context);
      showSets();
    } catch (error) {
      context.signal.throwIfAborted();
      fill(list, element("p", { class: "hint" }, `Stored inputs could not be listed. ${errorWords(error)}`));
    }
  };
  await read();
  const adding = element(
    "details",
    { class: "inputs", open: sets.length === 0 },
    element("summary", {}, "Add data: a file of prices, or input blobs"),
    makeInputs(context, stored),
  );
  return {
    element: element("fieldset", { class: "group data" }, element("legend", {}, "Data"), list, adding),
    show: (feature, prices) => {
      chosen = [feature, prices];
      mark();
      return sets.some(isChosen);
    },
  };
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
