import { element, fill } from "../../dom.ts";
import type { ViewContext } from "../../view.ts";
import { code, duration, facts, kindOf, moment, statusBadge } from "../../words.ts";
import type { Panel } from "./panel.ts";

const TICK_MS = 1_000;

/** Status, times and the id of an operation, with its duration while it runs. */
export function summaryPanel({ signal }: ViewContext): Panel {
  const section = element("section", { "aria-label": "Summary" });
  // Not a live region: a screen reader reads the current time when asked.
  const took = element("span");
  let since: { readonly started: number; readonly finished: number | undefined } | undefined;
  const tick = (): void => {
    if (since !== undefined) took.textContent = duration((since.finished ?? Date.now()) - since.started);
  };
  const timer = setInterval(tick, TICK_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
  let shown = "";
  return {
    element: section,
    show: ({ operation: { id, operation, status, created_at, started_at, finished_at } }) => {
      since =
        started_at === null
          ? undefined
          : {
              started: Date.parse(started_at),
              finished: finished_at === null ? undefined : Date.parse(finished_at),
            };
      tick();
      const state = `${status} ${started_at} ${finished_at}`;
      if (state === shown) return;
      shown = state;
      fill(
        section,
        facts(
          ["Status", statusBadge(status)],
          ["Kind", kindOf(operation)],
          ["Submitted", moment(created_at)],
          started_at !== null && ["Started", moment(started_at)],
          finished_at !== null && ["Ended", moment(finished_at)],
          started_at !== null && [finished_at === null ? "Running for" : "Duration", took],
          ["Id", code(id)],
        ),
      );
    },
  };
}
