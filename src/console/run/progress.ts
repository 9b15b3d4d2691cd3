import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { figure } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { mark } from "../../view/marks.ts";
import { bdi, bytes, duration } from "../../view/text.ts";
import { useAction, useView } from "../view.ts";
import { runName, stageWords } from "../words.ts";
import type { FollowedRun } from "./follow-run.ts";

/** The stages of a job, in order. An audit has its checks instead, a replay the stages of a job. */
const JOB_STAGES = ["read", "fit", "evaluate", "write"];
const WAITING =
  "Waiting for a free core. The service next starts the oldest operation of the caller with the fewest running operations.";

/** The progress of a running operation, and the button to cancel it. */
export function Progress({ run }: { readonly run: FollowedRun }): VNode {
  const { mayWrite, client, signal } = useView();
  const [isAsked, setAsked] = useState(false);
  const [inputBytes, setInputBytes] = useState<number>();
  const { operation, stages } = run;
  const { status, inputs } = operation;
  useEffect(() => {
    const names = Object.values(inputs ?? {});
    const add = async () => {
      const { blobs } = await client.listBlobs({ limit: 100, signal });
      const sizes = names.map((name) => blobs.find((blob) => blob.name === name)?.size);
      if (sizes.every((size) => size != null)) setInputBytes(sizes.reduce((sum, size) => sum + size, 0));
    };
    // Without the sizes, the bytes are shown without a total.
    if (operation.operation.startsWith("run_")) add().catch(() => undefined);
  }, []);
  const progress = operation.progress && { ...operation.progress };
  if (
    progress?.stage === "read" &&
    progress.total === null &&
    inputBytes !== undefined &&
    progress.done <= inputBytes
  )
    progress.total = inputBytes;
  const names = operation.operation === "audit" ? stages : [...new Set([...JOB_STAGES, ...stages])];
  const at = progress === null ? -1 : names.indexOf(progress.stage);
  const items = names.map((name, i) => {
    const [kind, shape] =
      i < at
        ? (["done", "tick"] as const)
        : i === at
          ? (["now", "half"] as const)
          : (["later", "open"] as const);
    return html`<li class=${kind} aria-current=${i === at ? "step" : undefined}>${mark(shape)} ${stageWords(name)}
      <span class="unseen">${i < at ? " (done)" : ""}</span></li>`;
  });
  const share =
    progress === null || progress.total === null ? undefined : progress.done / Math.max(1, progress.total);
  const words =
    status === "NotStarted"
      ? WAITING
      : progress === null
        ? "Started."
        : progressWords(operation.operation, progress) +
          (progress.seconds_left === undefined
            ? ""
            : `, about ${duration(1_000 * progress.seconds_left)} left`);
  // It tells changes of the status or the stage, but not each step, nor what was there at first.
  const spoken =
    status === "Running" && progress !== null ? `Running: ${stageWords(progress.stage)}` : status;
  const first = useRef(spoken);
  return html`<section>
    <h2>Progress</h2>
    <ol class="stages">${items}</ol>
    ${
      progress !== null &&
      (share === undefined
        ? html`<progress key="open" aria-label="Progress of the current stage" />`
        : html`<progress key="share" value=${Math.min(1, share)} aria-label="Progress of the current stage" />`)
    }
    <p class="progress-words">${words}</p>
    ${
      mayWrite
        ? html`<p><button type="button" onClick=${() => setAsked(true)}>Cancel…</button></p>`
        : html`<p class="hint">Your key has only the read scope, so you cannot cancel this operation.</p>`
    }
    <p class="unseen" role="status">${spoken === first.current ? "" : spoken}</p>
    ${isAsked && h(CancelDialog, { run, onClose: () => setAsked(false) })}
  </section>`;
}

interface StageProgress {
  readonly stage: string;
  readonly done: number;
  readonly total: number | null;
}

function progressWords(operation: string, { stage, done, total }: StageProgress): string {
  const amount = (count: number) => (stage === "read" ? bytes(count) : figure(count, "count"));
  const noun = stage === "read" ? "" : ` ${unitOf(operation, stage)}`;
  if (total === null) return `${stageWords(stage)}: ${amount(done)}${noun} so far`;
  const share = total === 0 ? "" : ` (${(Math.floor((1_000 * done) / total) / 10).toFixed(1)}\u202f%)`;
  return `${stageWords(stage)}: ${amount(done)} of ${amount(total)}${noun}${share}`;
}

function unitOf(operation: string, stage: string): string {
  if (stage === "evaluate") return "tickers";
  if (stage !== "fit") return stage === "write" ? "documents" : "steps";
  return { run_ml_job: "fits", run_dl_job: "epochs" }[operation] ?? "steps";
}

/** Asks for confirmation, then cancels an operation. */
function CancelDialog({ run, onClose }: { readonly run: FollowedRun; onClose(): void }): VNode {
  const { client, notify, signal } = useView();
  const dialog = useRef<HTMLDialogElement>(null);
  const { id, status } = run.operation;
  useEffect(() => dialog.current!.showModal(), []);
  const cancel = useAction("Could not cancel the operation.", async () => {
    dialog.current!.close();
    const answer = await client.cancelOperation(id, { signal });
    if (answer.status === "Canceled") notify("The operation is canceled.");
    else if (answer.status !== "Running") notify(`The operation had already ended: ${answer.status}.`);
    // It may have stopped before the answer arrived.
    else if (!run.hasEnded) notify("The operation is stopping.", "done", id);
  });
  return html`<dialog ref=${dialog} aria-labelledby="cancel-title" aria-describedby="cancel-words" onClose=${onClose}>
    <h2 id="cancel-title">Cancel ${bdi(runName(run.operation), 60)}?</h2>
    <p id="cancel-words">${
      status === "NotStarted"
        ? "The operation has not started. It is canceled immediately."
        : "The job stops within seconds and writes no output. All progress is lost."
    }</p>
    <p class="buttons">
      <button type="button" onClick=${() => dialog.current!.close()}>Keep running</button>
      <button type="button" class="danger" onClick=${cancel.run}>Cancel operation</button>
    </p>
  </dialog>`;
}
