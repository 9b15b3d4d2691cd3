import type { OperationView } from "../../../client/index.ts";
import { element, fill } from "../../dom.ts";
import { worthOf } from "../../run-worth.ts";
import type { ViewContext } from "../../view.ts";
import { code, counted, duration, facts, kindOf, moment, statusBadge, textElement } from "../../words.ts";
import { namesOf, sharedIdOf } from "../operations/run-columns.ts";
import type { Panel } from "./panel.ts";

const TICK_MS = 1_000;

/** Status, worth, times and the id of an operation, with its duration while it runs. */
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
    show: ({ operation: run }) => {
      const { id, operation, status, created_at, started_at, finished_at, summary, tags = [] } = run;
      since =
        started_at === null
          ? undefined
          : {
              started: Date.parse(started_at),
              finished: finished_at === null ? undefined : Date.parse(finished_at),
            };
      tick();
      const worth = worthOf(summary).join(" · ");
      const state = `${status} ${started_at} ${finished_at} ${worth}`;
      if (state === shown) return;
      shown = state;
      fill(
        section,
        facts(
          ["Status", statusBadge(status)],
          ["Kind", kindOf(operation)],
          worth !== "" && ["Forecasts", textElement(worth)],
          worth === "" && run.model !== undefined && ["Model", textElement(run.model)],
          run.inputs !== undefined && ["Data", textElement(dataOf(run))],
          tags.length > 0 && ["Tags", textElement(tags.join(", "))],
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

/** The id of both input blobs, or their names. */
function dataOf(operation: OperationView): string {
  const names = namesOf(operation);
  return sharedIdOf(names) ?? names.join(", ");
}

/** Maximum number of listed entries per code. */
const MAX_LISTED = 50;

interface Entry {
  readonly code: string;
  readonly message: string;
  readonly ticker?: string | undefined;
}

/** The warnings of an operation and its failed tickers, by code. */
export function codesPanel(): Panel {
  const section = element("section", { hidden: true });
  let drawn = "";
  return {
    element: section,
    show: ({ operation: { warnings, warning_counts = {}, failures = [], failure_counts = {} } }) => {
      const text = JSON.stringify([warning_counts, failure_counts, warnings.length, failures.length]);
      if (text === drawn) return;
      drawn = text;
      const groups = [
        ["Tickers without a forecast", codeGroups(failures, failure_counts, "ticker")] as const,
        ["Warnings", codeGroups(warnings, warning_counts, "warning")] as const,
      ].filter(([, elements]) => elements.length > 0);
      section.hidden = groups.length === 0;
      fill(section, ...groups.flatMap(([title, elements]) => [element("h2", {}, title), ...elements]));
    },
  };
}

/** The number of entries per code, and the first ones in full. */
export function codeGroups(
  entries: readonly Entry[],
  counts: Readonly<Record<string, number>>,
  noun: string,
): HTMLElement[] {
  const listed = Map.groupBy(entries, (entry) => entry.code);
  const codes = [...new Set([...Object.keys(counts), ...listed.keys()])];
  return codes.map((name) => {
    const all = listed.get(name) ?? [];
    const count = Object.hasOwn(counts, name) ? counts[name]! : all.length;
    const first = all.slice(0, MAX_LISTED);
    const more = count - first.length;
    return element(
      "details",
      { class: "codes", open: codes.length === 1 && count <= 3 },
      element("summary", {}, code(name), ` ${counted(count, noun)}`),
      element(
        "ul",
        {},
        ...first.map(({ message }) => element("li", {}, textElement(message, 500))),
        more > 0 &&
          element("li", { class: "hint" }, `and ${counted(more, noun)} more; the output lists them all`),
      ),
    );
  });
}
