import { element, fill } from "../../dom.ts";
import { moment } from "../../words.ts";
import type { HistoryEntry, Panel } from "./panel.ts";

/** The history of an operation: starts, further attempts, a cancel. */
export function historyPanel(): Panel {
  const list = element("ol", { class: "happenings" });
  const section = element("section", { hidden: true }, element("h2", {}, "History"), list);
  let drawn: HistoryEntry | undefined;
  return {
    element: section,
    show: ({ happenings }) => {
      section.hidden = happenings.length === 0;
      if (happenings.at(-1) === drawn) return;
      drawn = happenings.at(-1);
      fill(list, ...happenings.map(({ time, words }) => element("li", {}, moment(time), ` ${words}`)));
    },
  };
}
