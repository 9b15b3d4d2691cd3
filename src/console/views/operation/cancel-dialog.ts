import type { OperationView } from "../../../client/index.ts";
import { element } from "../../dom.ts";
import { errorWords } from "../../problem.ts";
import { shown } from "../../shown-text.ts";
import type { ViewContext } from "../../view.ts";
import { operationName } from "../../words.ts";

/** Asks for confirmation, then cancels an operation. */
export function confirmCancel(operation: OperationView, { client, notify, signal }: ViewContext): void {
  const cancel = element("button", { type: "button", class: "danger" }, "Cancel operation");
  const keep = element("button", { type: "button" }, "Keep running");
  const dialog = element(
    "dialog",
    { "aria-labelledby": "cancel-title", "aria-describedby": "cancel-words" },
    element("h2", { id: "cancel-title" }, "Cancel ", shown(operationName(operation), 60), "?"),
    element(
      "p",
      { id: "cancel-words" },
      operation.status === "NotStarted"
        ? "The operation has not started. It is canceled immediately."
        : "The job stops within seconds and writes no output. All progress is lost.",
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
              ? "The operation is stopping."
              : `The operation had already ended: ${status}.`,
        ),
      (error: unknown) => {
        if (!signal.aborted) notify(`Could not cancel the operation. ${errorWords(error)}`, "failed");
      },
    );
  });
  dialog.addEventListener("close", () => dialog.remove());
  signal.addEventListener("abort", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
