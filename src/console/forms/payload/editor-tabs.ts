import { element } from "../../dom.ts";
import { newId } from "../fields/field-control.ts";

interface Tab {
  readonly name: string;
  readonly panel: HTMLElement;
}

/** Wide enough for all panels beside each other; `console-forms.css` has the same width. */
const WIDE = "(min-width: 72rem)";

/**
 * Panels: all of them on a wide screen, otherwise one at a time. The arrow keys, Home and End move between tabs, and Tab moves into the
 * panel.
 * @param signal aborts if the panels are no longer shown.
 * @param shown is called with the number of the selected panel, and with 0 if all are visible.
 */
export function editorTabs(
  label: string,
  tabs: readonly Tab[],
  signal: AbortSignal,
  shown: (chosen: number) => void,
): HTMLElement {
  const wide = matchMedia(WIDE);
  let current = 0;
  const buttons = tabs.map(({ name, panel }) => {
    const id = newId();
    panel.id = `${id}-panel`;
    panel.setAttribute("aria-labelledby", id);
    return element("button", { type: "button", role: "tab", id, "aria-controls": panel.id }, name);
  });
  const list = element("div", { class: "tabs", role: "tablist", "aria-label": label }, ...buttons);
  const arrange = () => {
    list.hidden = wide.matches;
    for (const [i, button] of buttons.entries()) {
      button.setAttribute("aria-selected", String(i === current));
      button.tabIndex = i === current ? 0 : -1;
      const { panel } = tabs[i]!;
      panel.hidden = !wide.matches && i !== current;
      panel.setAttribute("role", wide.matches ? "group" : "tabpanel");
    }
    shown(wide.matches ? 0 : current);
  };
  const choose = (chosen: number) => {
    current = chosen;
    arrange();
  };
  for (const [i, button] of buttons.entries()) {
    button.addEventListener("click", () => choose(i));
    button.addEventListener("keydown", (event) => {
      const target = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (target === undefined) return;
      event.preventDefault();
      const next = (target + tabs.length) % tabs.length;
      choose(next);
      buttons[next]!.focus();
    });
  }
  wide.addEventListener("change", arrange, { signal });
  arrange();
  return list;
}
