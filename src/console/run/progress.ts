import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { OperationView } from "../../client/index.ts";
import { figure } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { mark } from "../../view/marks.ts";
import { bdi, duration } from "../../view/text.ts";
import { useAction, useView } from "../view.ts";
import { runName, stageWords } from "../words.ts";
import type { FollowedRun } from "./follow-run.ts";

/** The stages of a job, in order. An audit has its checks instead, a replay the stages of a job. */
const JOB_STAGES = ["read", "fit", "evaluate", "write"];
const WAITING =
  "Waiting for a free core. The service next starts the oldest operation of the caller with the fewest running operations.";

/** The progress of a running operation, and the button to cancel it. */
export function Progress({ run: { operation, stages } }: { readonly run: FollowedRun }): VNode {
  const { mayWrite } = useView();
  const [isAsked, setAsked] = useState(false);
  const { status, progress } = operation;
  const names = operation.operation === "audit" ? stages : [...new Set([...JOB_STAGES, ...stages])];
  const at = progress === null ? -1 : names.indexOf(progress.stage);
  const items = names.map((name, i) => {
    const kind = i < at ? "done" : i === at ? "now" : "later";
    const shape = ({ done: "tick", now: "half", later: "open" } as const)[kind];
    return html`<li class=${kind} aria-current=${kind === "now" ? "step" : undefined}>${mark(shape)} ${stageWords(name)}
      <span class="unseen">${kind === "done" ? " (done)" : ""}</span></li>`;
  });
  // It tells changes of the status or the stage, but not each step, nor what was there at first.
  const spoken =
    status === "Running" && progress !== null ? `Running: ${stageWords(progress.stage)}` : status;
  const first = useRef(spoken);
  return html`<section>
    <h2>Progress</h2>
    <ol class="stages">${items}</ol>
    ${progress !== null && progressBar(progress)}
    <p class="progress-words">${status === "NotStarted" ? WAITING : progressWords(operation)}</p>
    ${
      mayWrite
        ? html`<p><button type="button" onClick=${() => setAsked(true)}>Cancel…</button></p>`
        : html`<p class="hint">Your key has only the read scope, so you cannot cancel this operation.</p>`
    }
    <p class="unseen" role="status">${spoken === first.current ? "" : spoken}</p>
    ${isAsked && h(CancelDialog, { operation, onClose: () => setAsked(false) })}
  </section>`;
}

type StageProgress = NonNullable<OperationView["progress"]>;

/** Without a total, a bar that only says that something goes on. */
function progressBar({ done, total }: StageProgress): VNode {
  const label = "Progress of the current stage";
  return total === null
    ? html`<progress key="open" aria-label=${label} />`
    : html`<progress key="share" value=${Math.min(1, done / Math.max(1, total))} aria-label=${label} />`;
}

function progressWords({ operation, progress }: OperationView): string {
  if (progress === null) return "Started.";
  const { stage, done, total, seconds_left } = progress;
  const left = seconds_left === undefined ? "" : `, about ${duration(1_000 * seconds_left)} left`;
  // Bytes that have been read say nothing without a total.
  if (stage === "read") return `${stageWords(stage)}${left}`;
  const units = {
    evaluate: "tickers",
    write: "documents",
    fit: { run_ml_job: "fits", run_dl_job: "epochs" }[operation as string],
  };
  const unit = units[stage as keyof typeof units] ?? "steps";
  if (total === null) return `${stageWords(stage)}: ${figure(done, "count")} ${unit} so far${left}`;
  const share = total === 0 ? "" : ` (${(Math.floor((1_000 * done) / total) / 10).toFixed(1)}\u202f%)`;
  return `${stageWords(stage)}: ${figure(done, "count")} of ${figure(total, "count")} ${unit}${share}${left}`;
}

interface CancelDialogProps {
  readonly operation: OperationView;
  onClose(): void;
}

/** Asks for confirmation, then cancels an operation. */
function CancelDialog({ operation, onClose }: CancelDialogProps): VNode {
  const { client, notify, signal } = useView();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  const { run } = useAction("Could not cancel the operation.", async () => {
    dialog.current!.close();
    const { status } = await client.cancelOperation(operation.id, { signal });
    if (status === "Running") notify("The operation stops within seconds.");
  });
  return html`<dialog ref=${dialog} aria-labelledby="cancel-title" aria-describedby="cancel-words" onClose=${onClose}>
    <h2 id="cancel-title">Cancel ${bdi(runName(operation), 60)}?</h2>
    <p id="cancel-words">${
      operation.status === "NotStarted"
        ? "The operation has not started. It is canceled immediately."
        : "The job stops within seconds and writes no output. All progress is lost."
    }</p>
    <p class="buttons">
      <button type="button" onClick=${() => dialog.current!.close()}>Keep running</button>
      <button type="button" class="danger" onClick=${run}>Cancel operation</button>
    </p>
  </dialog>`;
}
