import { element } from "../../dom.ts";
import { newId } from "../fields/field-control.ts";

export interface Tab {
  readonly name: string;
  readonly panel: HTMLElement;
}

/**
 * Panels, one of which is visible. The arrow keys, Home and End move between tabs, and Tab moves into the panel.
 * @param shown is called with the number of the selected panel.
 */
export function makeTabs(label: string, tabs: readonly Tab[], shown: (chosen: number) => void): HTMLElement {
  const buttons = tabs.map(({ name, panel }) => {
    const id = newId();
    panel.id = `${id}-panel`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", id);
    return element("button", { type: "button", role: "tab", id, "aria-controls": panel.id }, name);
  });
  const choose = (chosen: number) => {
    for (const [i, button] of buttons.entries()) {
      button.setAttribute("aria-selected", String(i === chosen));
      button.tabIndex = i === chosen ? 0 : -1;
      tabs[i]!.panel.hidden = i !== chosen;
    }
    shown(chosen);
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
  choose(0);
  return element("div", { class: "tabs", role: "tablist", "aria-label": label }, ...buttons);
}
