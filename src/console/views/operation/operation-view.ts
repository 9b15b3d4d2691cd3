import { element, fill } from "../../dom.ts";
import { errorBox, problemBox } from "../../problem.ts";
import type { View, ViewContext } from "../../view.ts";
import { kindOf, moment, operationName } from "../../words.ts";
import { configPanel } from "./config-panel.ts";
import { FollowedOperation } from "./follow-operation.ts";
import { forecastPanel } from "./forecast-panel.ts";
import type { HistoryEntry, Panel } from "./panel.ts";
import { progressPanel } from "./progress-panel.ts";
import { againLink, resultPanel } from "./result-panel.ts";
import { codeGroups, codesPanel, summaryPanel } from "./summary-panel.ts";
import { trainingPanel } from "./training-panel.ts";
import { verdictPanel } from "./verdict-panel.ts";

/** The parts of the page, from top to bottom. */
const PANELS = [
  summaryPanel,
  progressPanel,
  problemPanel,
  resultPanel,
  verdictPanel,
  forecastPanel,
  trainingPanel,
  configPanel,
  codesPanel,
  historyPanel,
] as const;

export const showOperation: View = async (container, context) => {
  const { client, params, signal, setTitle } = context;
  const operation = await client.getOperation(params.get("id")!, { signal });
  setTitle(operationName({ ...operation, operation: kindOf(operation.operation) }));
  const panels = PANELS.map((panel) => panel(context));
  const show = (): void => {
    for (const panel of panels) panel.show(followed);
  };
  const followed = new FollowedOperation(operation, context, show);
  container.append(...panels.map((panel) => panel.element));
  show();
  const follow = (): void => {
    followed.follow().catch((error: unknown) => {
      if (!signal.aborted) container.prepend(errorBox(error));
    });
  };
  if (!followed.hasEnded) {
    follow();
    void followed.look();
    return;
  }
  // It may have ended before the page of its submission was shown.
  context.statusChanged(operation);
  container.append(earlierEvents(follow));
};

/** The history of an ended operation is read only on request: the events may be megabytes. */
function earlierEvents(follow: () => void): HTMLElement {
  const button = element("button", { type: "button" }, "Show history");
  const words = element(
    "p",
    { class: "earlier" },
    button,
    " ",
    element("span", { class: "hint" }, "Loads the stored events: history and training curves."),
  );
  button.addEventListener("click", () => {
    words.remove();
    follow();
  });
  return words;
}

/** The history of an operation: starts, further attempts, a cancel. */
function historyPanel(): Panel {
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

/** Why an operation failed, and what to do. */
function problemPanel({ mayWrite }: ViewContext): Panel {
  const section = element("section", { hidden: true });
  return {
    element: section,
    show: ({ operation }) => {
      const { status, error } = operation;
      if (error === null || !section.hidden) return;
      section.hidden = false;
      const { failures = [], failure_counts = {} } = error;
      fill(
        section,
        element("h2", {}, status === "Canceled" ? "Operation canceled" : "Why it failed"),
        problemBox(error),
        ...codeGroups(failures, failure_counts, "ticker"),
        mayWrite &&
          element(
            "p",
            { class: "again" },
            againLink(operation),
            " ",
            element(
              "span",
              { class: "hint" },
              "Opens the form with this payload. Change its config or inputs before you submit it.",
            ),
          ),
      );
    },
  };
}
