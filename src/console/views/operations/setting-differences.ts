import type { OperationView } from "../../../client/index.ts";
import { element, fill } from "../../dom.ts";
import { valueAt } from "../../forms/fields/payload-tree.ts";
import { errorWords } from "../../problem.ts";
import {
  type Difference,
  differencesOf,
  type Setting,
  settingLabel,
  settingName,
} from "../../settings/config-settings.ts";
import { type RunConfig, readRunConfig } from "../../settings/run-config.ts";
import type { ViewContext } from "../../view.ts";
import { code, operationName, textElement } from "../../words.ts";

/** Maximum number of listed settings. */
const MAX_ROWS = 60;
const MAX_VALUE = 200;

/** The inputs and settings in which chosen runs differ. It reads their payloads when the reader unfolds it. */
export class SettingDifferences {
  readonly element: HTMLDetailsElement;
  readonly #context: ViewContext;
  readonly #place = element("div", { role: "status" });
  readonly #configs = new Map<string, Promise<RunConfig | undefined>>();
  #operations: readonly OperationView[] = [];
  #drawn = "";

  constructor(context: ViewContext) {
    this.#context = context;
    this.element = element(
      "details",
      { class: "differences", hidden: true },
      element("summary", {}, "Show how their settings differ"),
      this.#place,
    );
    this.element.addEventListener("toggle", () => void this.#draw());
  }

  /** @param operations in the order of the columns. */
  show(operations: readonly OperationView[]): void {
    this.#operations = operations;
    this.element.hidden = operations.length < 2;
    void this.#draw();
  }

  async #draw(): Promise<void> {
    const operations = this.#operations;
    const key = operations.map(({ id }) => id).join();
    if (!this.element.open || this.element.hidden || key === this.#drawn) return;
    this.#drawn = key;
    try {
      const configs = await Promise.all(operations.map((operation) => this.#configOf(operation)));
      // The reader has chosen other runs in the meantime.
      if (key === this.#drawn) fill(this.#place, ...comparison(operations, configs));
    } catch (error) {
      if (this.#context.signal.aborted || key !== this.#drawn) return;
      this.#drawn = "";
      fill(this.#place, element("p", {}, `The settings could not be read. ${errorWords(error)}`));
    }
  }

  #configOf(operation: OperationView): Promise<RunConfig | undefined> {
    const { id } = operation;
    const known = this.#configs.get(id);
    if (known !== undefined) return known;
    const reading = readRunConfig(operation, this.#context);
    this.#configs.set(id, reading);
    // The next try reads it again.
    reading.catch(() => this.#configs.delete(id));
    return reading;
  }
}

function comparison(
  operations: readonly OperationView[],
  configs: readonly (RunConfig | undefined)[],
): HTMLElement[] {
  const columns = operations.flatMap((operation, i) => {
    const config = configs[i];
    return config === undefined ? [] : [{ operation, config }];
  });
  const unknown = operations.filter((_, i) => configs[i] === undefined).map(operationName);
  const differences = differencesOf(columns.map(({ config }) => [...inputsOf(config), ...config.settings]));
  const more = differences.length - MAX_ROWS;
  return [
    ...(unknown.length === 0
      ? []
      : [element("p", { class: "hint" }, `The payload of ${unknown.join(", ")} is not stored.`)]),
    differences.length === 0
      ? element("p", {}, "No input and no setting differs.")
      : differenceTable(
          columns.map(({ operation }) => operation),
          differences.slice(0, MAX_ROWS),
        ),
    ...(more > 0 ? [element("p", { class: "hint" }, `and ${more} more`)] : []),
  ];
}

/** The inputs of a run by their names, in the form of settings. */
function inputsOf({ payload }: RunConfig): Setting[] {
  return ["feature_url", "data_extractor_url"].flatMap((member) => {
    const url = valueAt(payload, [member]);
    if (typeof url !== "string") return [];
    return [{ path: [member], value: url.split("/").at(-1)!, byDefault: undefined }];
  });
}

function differenceTable(
  operations: readonly OperationView[],
  differences: readonly Difference[],
): HTMLElement {
  const titles = operations.map(operationName);
  const head = (title: string) => element("th", { scope: "col" }, title);
  const table = element(
    "table",
    { class: "numbers" },
    element("caption", { class: "unseen" }, "Inputs and settings in which the chosen runs differ"),
    element("thead", {}, element("tr", {}, head("Setting"), ...titles.map(head))),
    element("tbody", {}, ...differences.map((difference) => rowOf(difference, titles))),
  );
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Differences of settings" },
    table,
  );
}

function rowOf(difference: Difference, titles: readonly string[]): HTMLElement {
  const words = settingLabel(difference);
  const byDefault = difference.values.find((value) => value?.byDefault !== undefined)?.byDefault;
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, words !== undefined && `${words} `, code(settingName(difference))),
    ...difference.values.map((value, i) =>
      element("td", { "data-title": titles[i] }, ...cellOf(value, byDefault)),
    ),
  );
}

function cellOf(setting: Setting | undefined, byDefault: string | undefined): (HTMLElement | string)[] {
  if (setting !== undefined) return [textElement(setting.value, MAX_VALUE)];
  if (byDefault === undefined) return ["–"];
  return [textElement(byDefault, MAX_VALUE), element("span", { class: "hint" }, " (default)")];
}
