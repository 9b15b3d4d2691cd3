import type { OperationView } from "../../../client/index.ts";
import { MAX_COMPARED_OUTPUTS } from "../../../contract/config/limits.ts";
import { element } from "../../dom.ts";
import { openReport } from "../../report-tab.ts";
import type { ViewContext } from "../../view.ts";
import { counted, operationName } from "../../words.ts";
import { SettingDifferences } from "./setting-differences.ts";

const MIN_COMPARED = 2;

/** The runs that the reader has chosen to compare: the button that opens their report, and how their settings differ. A run stays chosen if a filter hides it. */
export class ChosenRuns {
  readonly element: HTMLElement;
  readonly #button = element("button", { type: "button" }, "Compare in a report");
  readonly #clear = element("button", { type: "button", class: "plain" }, "Clear");
  readonly #words = element("span", { role: "status" });
  /** By id, in the order of their choice, which is that of the report's columns. */
  readonly #chosen = new Map<string, OperationView>();
  readonly #differences: SettingDifferences;
  /** The boxes of the rows, by the id of their operation. */
  readonly #boxes = new Map<string, HTMLInputElement>();

  constructor(context: ViewContext) {
    const { client, signal } = context;
    this.#button.addEventListener("click", async () => {
      await openReport(
        this.#button,
        () => client.createComparisonLink([...this.#chosen.keys()], { signal }),
        context,
      );
      this.#show();
    });
    this.#clear.addEventListener("click", () => {
      this.#chosen.clear();
      this.#show();
    });
    this.#differences = new SettingDifferences(context);
    this.element = element(
      "div",
      {},
      element("p", { class: "chosen buttons" }, this.#button, this.#words, this.#clear),
      this.#differences.element,
    );
    this.#show();
  }

  /** The box of a run; undefined for one without a report. */
  boxOf(operation: OperationView): HTMLInputElement | undefined {
    if (!hasReport(operation)) return undefined;
    const { id } = operation;
    const known = this.#boxes.get(id);
    if (known !== undefined) return known;
    const box = element("input", { type: "checkbox", "aria-label": `Compare ${operationName(operation)}` });
    box.addEventListener("change", () => {
      if (box.checked) this.#chosen.set(id, operation);
      else this.#chosen.delete(id);
      this.#show();
    });
    this.#boxes.set(id, box);
    this.#showBox(id, box);
    return box;
  }

  #show(): void {
    const count = this.#chosen.size;
    this.#button.disabled = count < MIN_COMPARED;
    this.#clear.hidden = count === 0;
    this.#words.textContent =
      count === 0
        ? `Choose ${MIN_COMPARED} to ${MAX_COMPARED_OUTPUTS} jobs that succeeded.`
        : `${counted(count, "run")} chosen${count === MAX_COMPARED_OUTPUTS ? ", the most that a report compares" : ""}`;
    for (const [id, box] of this.#boxes) this.#showBox(id, box);
    this.#differences.show([...this.#chosen.values()]);
  }

  #showBox(id: string, box: HTMLInputElement): void {
    box.checked = this.#chosen.has(id);
    box.disabled = !box.checked && this.#chosen.size === MAX_COMPARED_OUTPUTS;
  }
}

/** Whether an operation has an output to compare: a job that succeeded. */
function hasReport({ operation, status }: OperationView): boolean {
  return status === "Succeeded" && operation !== "audit" && operation !== "replay";
}
