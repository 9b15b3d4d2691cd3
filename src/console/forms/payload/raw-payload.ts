import { element, fill } from "../../dom.ts";
import { textElement } from "../../words.ts";
import { faultLine, newId } from "../fields/field-control.ts";
import { MAX_PAYLOAD_LENGTH } from "../fields/payload-tree.ts";
import type { PlacedFault } from "./refusal.ts";

/** The payload as JSON text that the reader can edit. */
export interface RawPayload {
  readonly element: HTMLElement;
  show(text: string, fault: string | undefined): void;
  /** Lists the faults that the service found in it. */
  showRefused(faults: readonly PlacedFault[]): void;
  focus(): void;
}

const HINT =
  "This exact text is sent, so numbers keep their spelling. The fields show the same values; changing a field rewrites this text.";

/** @param typed is called with the text after every change by the reader. */
export function makeRawPayload(typed: (text: string) => void): RawPayload {
  const id = newId();
  const fault = faultLine(`${id}-fault`);
  const refused = element("ul", { class: "fault", id: `${id}-refused` });
  const input = element("textarea", {
    id,
    class: "code raw",
    rows: 24,
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "off",
    maxlength: MAX_PAYLOAD_LENGTH,
    "aria-describedby": `${id}-hint ${id}-fault ${id}-refused`,
  });
  let latest = "";
  input.addEventListener("input", () => {
    fill(refused);
    typed(input.value);
  });
  input.addEventListener("change", () => {
    input.value = latest;
  });
  const frame = element(
    "div",
    {},
    element(
      "div",
      { class: "field" },
      element("label", { for: id }, "Payload"),
      input,
      fault.element,
      refused,
      element("p", { class: "hint", id: `${id}-hint` }, HINT),
    ),
  );
  return {
    element: frame,
    show: (text, broken) => {
      latest = text;
      // The reader's own characters stay unchanged while they are typed.
      if (document.activeElement !== input && input.value !== text) input.value = text;
      fault.show(broken === undefined ? [] : [broken]);
      if (broken === undefined) input.removeAttribute("aria-invalid");
      else input.setAttribute("aria-invalid", "true");
    },
    showRefused: (faults) =>
      fill(
        refused,
        ...faults.map(({ path, message }) =>
          element("li", {}, textElement(path === "" ? message : `${path}: ${message}`, 1_000)),
        ),
      ),
    focus: () => input.focus(),
  };
}
