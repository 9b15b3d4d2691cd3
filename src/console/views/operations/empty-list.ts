import { element } from "../../dom.ts";
import { runExample } from "../../forms/inputs/example-data.ts";
import { errorWords } from "../../problem.ts";
import type { ViewContext } from "../../view.ts";

/** What a caller without operations sees: a job on the example data, or one of their own. */
export function emptyList(context: ViewContext): HTMLElement {
  const { mayWrite, navigate, notify, signal } = context;
  if (!mayWrite) return element("p", { class: "empty" }, "No operations yet.");
  const button = element("button", { type: "button", class: "main" }, "Run a job on example data");
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const id = await runExample(context);
      navigate(`#/operations/${id}`);
    } catch (error) {
      if (!signal.aborted) notify(`The example could not be run. ${errorWords(error)}`, "failed");
      button.disabled = false;
    }
  });
  return element(
    "section",
    { class: "first" },
    element("h2", {}, "No operations yet"),
    element(
      "p",
      {},
      "Try it on the example data: made-up prices and features of three tickers. A ridge regression forecasts the next return of each within seconds.",
    ),
    element(
      "p",
      { class: "buttons" },
      button,
      element("a", { class: "button", href: "#/job" }, "Use your own data"),
    ),
    element(
      "p",
      { class: "hint" },
      "The button stores both example blobs as yours, and submits a job with the tag “example”.",
    ),
  );
}
