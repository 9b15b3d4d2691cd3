import type { ExampleConfig } from "../../contract/config/example-configs.ts";
import { type RawJson, rawNumbersOf } from "../../contract/json/json-text.ts";
import { element, fill } from "../dom.ts";
import { newId } from "./fields/field-control.ts";
import type { PayloadForm } from "./payload/payload-form.ts";

const CONFIG = ["config"];

/** Offers the example configs of a job. The selected one replaces the form's config. */
export function exampleChooser(form: PayloadForm, examples: readonly ExampleConfig[]): HTMLElement {
  const id = newId();
  const about = element("p", { class: "hint", id: `${id}-hint`, role: "status" });
  const chosen = element(
    "select",
    { id, "aria-describedby": `${id}-hint` },
    ...examples.map(({ name }) => element("option", { value: name }, name)),
  );
  const found = () => examples.find(({ name }) => name === chosen.value)!;
  const describe = () => fill(about, `${found().summary}.`);
  const use = element("button", { type: "button" }, "Use this config");
  chosen.addEventListener("change", describe);
  use.addEventListener("click", () => {
    const isTaken = form.set(CONFIG, rawNumbersOf(JSON.stringify(found().config)) as RawJson);
    fill(
      about,
      isTaken ? `The form now has the config ${found().name}.` : "Fix the JSON on the JSON tab first.",
    );
  });
  describe();
  return element(
    "div",
    { class: "field examples" },
    element("label", { for: id }, "Start from an example config"),
    element("div", { class: "beside" }, chosen, use),
    about,
  );
}
