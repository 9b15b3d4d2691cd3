import type { OperationView } from "../../../client/index.ts";
import { element } from "../../dom.ts";
import { errorWords } from "../../problem.ts";
import { shown } from "../../shown-text.ts";
import type { ViewContext } from "../../view.ts";
import { operationName } from "../../words.ts";

/** Asks whether an operation shall end, and cancels it. */
export function confirmCancel(operation: OperationView, { client, notify, signal }: ViewContext): void {
  const cancel = element("button", { type: "button", class: "danger" }, "Cancel the operation");
  const keep = element("button", { type: "button" }, "Keep it");
  const dialog = element(
    "dialog",
    { "aria-labelledby": "cancel-title", "aria-describedby": "cancel-words" },
    element("h2", { id: "cancel-title" }, "Cancel ", shown(operationName(operation), 60), "?"),
    element(
      "p",
      { id: "cancel-words" },
      operation.status === "NotStarted"
        ? "It has not started. It ends as Canceled at once."
        : "Its job stops within seconds and leaves no output. What it has computed is lost.",
    ),
    element("p", { class: "buttons" }, keep, cancel),
  );
  keep.addEventListener("click", () => dialog.close());
  cancel.addEventListener("click", () => {
    dialog.close();
    client.cancelOperation(operation.id, { signal }).then(
      ({ status }) =>
        notify(
          status === "Canceled"
            ? "The operation is canceled."
            : status === "Running"
              ? "The operation is asked to stop."
              : `It had ended before: ${status}.`,
        ),
      (error: unknown) => {
        if (!signal.aborted) notify(`It could not be canceled. ${errorWords(error)}`, "failed");
      },
    );
  });
  dialog.addEventListener("close", () => dialog.remove());
  signal.addEventListener("abort", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
