import type { OperationView } from "../../../client/index.ts";
import { element } from "../../dom.ts";
import { downloadLink } from "../../download-link.ts";
import { againAddress } from "../../forms/earlier-payload.ts";
import { openReport } from "../../report-tab.ts";
import type { ViewContext } from "../../view.ts";
import { code } from "../../words.ts";
import type { Panel } from "./panel.ts";

const VERDICT_OPERATIONS = new Set(["audit", "replay"]);

/** The result of an operation that succeeded: its report, its output, and links to check it. */
export function resultPanel(context: ViewContext): Panel {
  const section = element("section", { hidden: true }, element("h2", {}, "Result"));
  return {
    element: section,
    show: ({ operation }) => {
      if (operation.result === null || !section.hidden) return;
      section.hidden = false;
      const { output_name, output_url } = operation.result;
      const isJob = !VERDICT_OPERATIONS.has(operation.operation);
      section.append(
        element(
          "p",
          { class: "buttons" },
          isJob && reportLink(operation, context),
          downloadLink(output_name, isJob ? "Download output" : "Download verdict", context),
          context.mayWrite && againLink(operation),
          isJob &&
            context.mayWrite &&
            element("a", { class: "button", href: `#/replay?operation=${operation.id}` }, "Replay"),
          isJob &&
            context.mayWrite &&
            element("a", { class: "button", href: `#/audit?operation=${operation.id}` }, "Audit inputs"),
        ),
        element(
          "p",
          { class: "hint" },
          isJob ? "Output for the portfolio optimizer: " : "Verdict: ",
          code(output_url),
        ),
      );
    },
  };
}

/** Opens the form with the payload of an operation, so that it can be changed and submitted again. */
export function againLink(operation: OperationView): HTMLElement | undefined {
  const href = againAddress(operation);
  return href === undefined ? undefined : element("a", { class: "button", href }, "Run again\u2026");
}

/**
 * A link cannot send a key. So without a key it leads to the report itself, otherwise to an address that opens once, within a minute.
 */
function reportLink({ id }: OperationView, context: ViewContext): HTMLElement {
  if (!context.hasCredentials) {
    const href = `${context.baseUrl}v1/operations/${encodeURIComponent(id)}/report`;
    return element("a", { class: "button main", href, target: "_blank", rel: "noopener" }, "Open report");
  }
  const button = element("button", { type: "button", class: "main" }, "Open report");
  button.addEventListener("click", () => {
    void openReport(button, () => context.client.createReportLink(id, { signal: context.signal }), context);
  });
  return button;
}
