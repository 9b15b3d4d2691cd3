import { element } from "../../dom.ts";
import { errorBox } from "../../problem.ts";
import type { View } from "../../view.ts";
import { kindOf, operationName } from "../../words.ts";
import { codesPanel } from "./codes-panel.ts";
import { FollowedOperation } from "./follow-operation.ts";
import { forecastPanel } from "./forecast-panel.ts";
import { historyPanel } from "./history-panel.ts";
import { problemPanel } from "./problem-panel.ts";
import { progressPanel } from "./progress-panel.ts";
import { resultPanel } from "./result-panel.ts";
import { summaryPanel } from "./summary-panel.ts";
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
  codesPanel,
  historyPanel,
] as const;

/** One operation while it runs, and its result. */
export const showOperation: View = async (container, context) => {
  const { client, params, signal, entitle } = context;
  const operation = await client.getOperation(params.get("id")!, { signal });
  entitle(operationName({ ...operation, operation: kindOf(operation.operation) }));
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
  container.append(earlierEvents(follow));
};

/** The history of an ended operation is read only on request: the events may be megabytes. */
function earlierEvents(follow: () => void): HTMLElement {
  const button = element("button", { type: "button" }, "Show history");
  const words = element(
    "p",
    {},
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
