import { element, fill } from "../../dom.ts";
import { problemBox } from "../../problem.ts";
import { codeGroups } from "./codes-panel.ts";
import type { Panel } from "./panel.ts";

/** Why an operation failed, and what to do. */
export function problemPanel(): Panel {
  const section = element("section", { hidden: true });
  return {
    element: section,
    show: ({ operation: { status, error } }) => {
      if (error === null || !section.hidden) return;
      section.hidden = false;
      const { failures = [], failure_counts = {} } = error;
      fill(
        section,
        element("h2", {}, status === "Canceled" ? "Operation canceled" : "Why it failed"),
        problemBox(error),
        ...codeGroups(failures, failure_counts, "ticker"),
      );
    },
  };
}
