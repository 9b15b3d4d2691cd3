import type { OperationView } from "../../../client/index.ts";
import { figure } from "../../../view/figures.ts";
import { element, fill } from "../../dom.ts";
import { errorWords } from "../../problem.ts";
import type { ViewContext } from "../../view.ts";
import { bytes, duration, mark, operationName, stageWords, textElement } from "../../words.ts";
import type { FollowedState, Panel } from "./panel.ts";

/** The stages of a job, in order. An audit has its checks instead, a replay the stages of a job. */
const JOB_STAGES = ["read", "fit", "evaluate", "write"];

/** The progress of a running operation, and the button to cancel it. */
export function progressPanel(context: ViewContext): Panel {
  const stages = element("ol", { class: "stages" });
  const bar = element("progress", { "aria-label": "Progress of the current stage" });
  const words = element("p", { class: "progress-words" });
  const cancel = element("button", { type: "button" }, "Cancel\u2026");
  const liveRegion = element("p", { class: "unseen", role: "status" });
  const section = element(
    "section",
    { hidden: true },
    element("h2", {}, "Progress"),
    stages,
    bar,
    words,
    context.mayWrite
      ? element("p", {}, cancel)
      : element(
          "p",
          { class: "hint" },
          "Your key has only the read scope, so you cannot cancel this operation.",
        ),
    liveRegion,
  );
  let followed: FollowedState | undefined;
  cancel.addEventListener("click", () => confirmCancel(() => followed!.operation, context));
  return {
    element: section,
    show: (now) => {
      followed = now;
      const { status, progress, operation, finished_at } = now.operation;
      section.hidden = finished_at !== null;
      announce(liveRegion, status, progress?.stage);
      if (finished_at !== null) return;
      fill(stages, ...stageItems(now));
      const share =
        progress === null || progress.total === null
          ? undefined
          : progress.done / Math.max(1, progress.total);
      bar.hidden = progress === null;
      if (share === undefined) bar.removeAttribute("value");
      else bar.value = Math.min(1, share);
      words.textContent =
        status === "NotStarted"
          ? "Waiting for a free core. The service next starts the oldest operation of the caller with the fewest running operations."
          : progress === null
            ? "Started."
            : progressWords(operation, progress) + leftWords(now.pace.remaining(progress));
    },
  };
}

/** Announces changes of the status or the stage, but not each step. */
function announce(liveRegion: HTMLElement, status: string, stage: string | undefined): void {
  const words = status === "Running" && stage !== undefined ? `Running: ${stageWords(stage)}` : status;
  if (liveRegion.dataset.last === undefined) liveRegion.dataset.last = words;
  if (liveRegion.dataset.last === words) return;
  liveRegion.dataset.last = words;
  liveRegion.textContent = words;
}

function stageItems({ operation: { operation, progress }, stages }: FollowedState): HTMLElement[] {
  const names = operation === "audit" ? stages : [...new Set([...JOB_STAGES, ...stages])];
  const at = progress === null ? -1 : names.indexOf(progress.stage);
  return names.map((name, i) => {
    const [kind, shape] =
      i < at
        ? (["done", "tick"] as const)
        : i === at
          ? (["now", "half"] as const)
          : (["later", "open"] as const);
    return element(
      "li",
      { class: kind, "aria-current": i === at ? "step" : undefined },
      mark(shape),
      ` ${stageWords(name)}`,
      element("span", { class: "unseen" }, i < at ? " (done)" : ""),
    );
  });
}

interface Progress {
  readonly stage: string;
  readonly done: number;
  readonly total: number | null;
}

function progressWords(operation: string, { stage, done, total }: Progress): string {
  const amount = (count: number) => (stage === "read" ? bytes(count) : figure(count, "count"));
  const noun = stage === "read" ? "" : ` ${unitOf(operation, stage)}`;
  if (total === null) return `${stageWords(stage)}: ${amount(done)}${noun} so far`;
  const share = total === 0 ? "" : ` (${(Math.floor((1_000 * done) / total) / 10).toFixed(1)}\u202f%)`;
  return `${stageWords(stage)}: ${amount(done)} of ${amount(total)}${noun}${share}`;
}

function leftWords(milliseconds: number | undefined): string {
  return milliseconds === undefined ? "" : `, about ${duration(milliseconds)} left`;
}

function unitOf(operation: string, stage: string): string {
  if (stage === "evaluate") return "tickers";
  if (stage !== "fit") return stage === "write" ? "documents" : "steps";
  if (operation === "run_ml_job") return "fits";
  return operation === "run_dl_job" ? "epochs" : "steps";
}

/** Asks for confirmation, then cancels an operation. @param newest what is known of it. */
function confirmCancel(newest: () => OperationView, { client, notify, signal }: ViewContext): void {
  const operation = newest();
  const cancel = element("button", { type: "button", class: "danger" }, "Cancel operation");
  const keep = element("button", { type: "button" }, "Keep running");
  const dialog = element(
    "dialog",
    { "aria-labelledby": "cancel-title", "aria-describedby": "cancel-words" },
    element("h2", { id: "cancel-title" }, "Cancel ", textElement(operationName(operation), 60), "?"),
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
      ({ status }) => {
        if (status === "Canceled") notify("The operation is canceled.");
        else if (status !== "Running") notify(`The operation had already ended: ${status}.`);
        // It may have stopped before the answer arrived.
        else if (newest().finished_at === null) notify("The operation is stopping.", "done", operation.id);
      },
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
