import {
  MucastApiError,
  type MucastClient,
  type OperationView,
  type SubmitOptions,
} from "../../../client/index.ts";
import type { SubmittedOperation } from "../../../contract/config/job-operations.ts";
import { curlLine } from "../../../contract/curl-line.ts";
import type { RawJson } from "../../../contract/json/json-text.ts";
import type { Problem } from "../../../contract/problems/problem.ts";
import { element, fill } from "../../dom.ts";
import type { ViewContext } from "../../view.ts";
import type { Control } from "../fields/field-control.ts";
import { type FaultPlace, makeFields } from "../fields/field-group.ts";
import { type Folds, reveal } from "../fields/folds.ts";
import type { Path } from "../fields/payload-tree.ts";
import { type FormPart, prunable } from "../fields/schema-fields.ts";
import { copiedCommand } from "./copied-command.ts";
import { editorTabs } from "./editor-tabs.ts";
import { keepDraft, PayloadDraft, takeDraft } from "./payload-draft.ts";
import { makeRawPayload } from "./raw-payload.ts";
import { faultsIn, makeRefusal, mayChange, type PlacedFault, pathName, placeFaults } from "./refusal.ts";

interface PayloadFormOptions {
  readonly operation: SubmittedOperation;
  readonly parts: readonly FormPart[];
  /** The parts that are folded at first; none by default. */
  readonly folds?: Folds;
  /** The initial payload of the form, as JSON text; a draft from before a lost session takes precedence. */
  readonly initial: string;
  /** The label of the button. */
  readonly submit: string;
  /** Whether the reader has chosen what the payload needs from elsewhere on the page. If not, points at it. */
  readonly isReady?: () => boolean;
  readonly context: ViewContext;
}

const NO_RESPONSE =
  "The service did not respond, so the request may or may not have been accepted. Send it again: with the same idempotency key, it is the same operation.";

const WAITING = "The JSON has an error. Until you fix it, the fields show the last valid values.";

/** The number of the tab with the JSON. */
const RAW = 1;

/**
 * The form of one payload: fields by its schema, the same as JSON text, the command that sends it, and the button that does. Faults
 * from the service appear at their fields.
 */
export class PayloadForm {
  readonly element: HTMLFormElement;
  readonly controls: readonly Control[];
  /** Called after each change, and once at the start. */
  onChange: () => void = () => undefined;
  readonly #options: PayloadFormOptions;
  readonly #draft: PayloadDraft;
  readonly #keys = new SubmissionKey();
  readonly #fields;
  readonly #raw = makeRawPayload((typed) => this.#write(typed));
  readonly #refusal = makeRefusal();
  readonly #command = copiedCommand(
    "Show the request as curl",
    "For any POSIX shell. The command uses the idempotency key of this form: if you send it twice, or send both the form and the command, you get one operation.",
  );
  readonly #button: HTMLButtonElement;
  readonly #fieldset: HTMLFieldSetElement;
  readonly #waiting = element("p", { class: "fault" }, WAITING);
  readonly #status = element("p", { role: "status" });
  #tab = 0;
  /** The faults that the fields and sections show. */
  readonly #faults = new Map<FaultPlace, readonly PlacedFault[]>();
  /** The faults above the form. */
  #elsewhere: readonly PlacedFault[] = [];
  #isSending = false;

  constructor(options: PayloadFormOptions) {
    this.#options = options;
    const { parts, operation, context } = options;
    this.#draft = new PayloadDraft(prunable(parts));
    this.#draft.write(options.initial);
    keepDraft(operation, context.signal, this);
    const kept = takeDraft(operation);
    if (kept !== undefined) this.#draft.write(kept);
    if (kept !== undefined) context.notify("The form contains what you had entered when your session ended.");
    this.#fields = makeFields(
      parts,
      (path, value, json, by) => this.#change(path, value, json, by),
      options.folds,
    );
    this.controls = this.#fields.controls;
    this.#button = element("button", { type: "submit", class: "main" }, options.submit);
    this.#fieldset = element("fieldset", { class: "fields" }, ...this.#fields.elements);
    const panels = [
      { name: "Fields", panel: element("div", {}, this.#waiting, this.#fieldset) },
      { name: "JSON", panel: this.#raw.element },
    ];
    const tabs = editorTabs("Request editor", panels, context.signal, (chosen) => {
      this.#tab = chosen;
    });
    this.element = element(
      "form",
      { class: "payload", novalidate: true },
      this.#refusal.element,
      tabs,
      element("div", { class: "editor" }, ...panels.map(({ panel }) => panel)),
      this.#command.element,
      element("p", { class: "actions" }, this.#button),
      this.#status,
    );
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#send();
    });
    this.#show();
  }

  /** The text that the form sends. */
  get text(): string {
    return this.#draft.text;
  }

  valueAt(path: Path): RawJson | undefined {
    return this.#draft.valueAt(path);
  }

  /** Changes a member as a field would. @returns whether it did: JSON with an error stays as the reader has written it. */
  set(path: Path, value: RawJson | undefined): boolean {
    if (this.#draft.fault !== undefined) return false;
    this.#change(path, value, undefined);
    return true;
  }

  /** Shows why an earlier operation with this payload failed, at the fields to change. */
  explain(problem: Problem): void {
    this.#showProblem(problem);
  }

  #change(path: Path, value: RawJson | undefined, json: string | undefined, by?: Control): void {
    this.#draft.set(path, value, json);
    this.#show(by);
    this.#settleFaults(pathName(path));
  }

  #write(typed: string): void {
    this.#draft.write(typed);
    this.#show();
  }

  /** @param by the control that the reader is typing into. */
  #show(by?: Control): void {
    const draft = this.#draft;
    if (draft.fault === undefined) this.#fields.show((path) => draft.valueAt(path), by);
    this.#raw.show(draft.text, draft.fault);
    // A change of a field would lose a text that is not JSON.
    this.#fieldset.disabled = draft.fault !== undefined;
    this.#waiting.hidden = !this.#fieldset.disabled;
    this.#showCommand();
    this.onChange();
  }

  #showCommand(): void {
    const { operation, context } = this.#options;
    this.#command.show(
      curlLine({
        method: "POST",
        url: `${context.baseUrl}v1/${operation}`,
        headers: {
          "Content-Type": "application/json",
          "Idempotency-Key": this.#keys.of(this.#draft.text),
        },
        hasKey: context.hasCredentials,
        body: this.#draft.text,
      }),
    );
  }

  async #send(): Promise<void> {
    if (this.#isSending || !this.#isSendable() || this.#options.isReady?.() === false) return;
    const { operation, context } = this.#options;
    const { client, signal } = context;
    const text = this.#draft.text;
    this.#setSending(true);
    try {
      const { id } = await submitPayload(client, operation, text, {
        idempotencyKey: this.#keys.sent(text),
        signal,
      });
      context.notify(`Submitted as ${id}.`, "done", id);
      context.navigate(`#/operations/${id}`);
    } catch (error) {
      if (!signal.aborted) this.#refused(error);
    } finally {
      this.#setSending(false);
    }
  }

  #setSending(isSending: boolean): void {
    this.#isSending = isSending;
    this.#button.setAttribute("aria-disabled", String(isSending));
    fill(this.#status, isSending && "Sending… If the service is busy or offline, the request is sent again.");
    if (!isSending) return;
    this.#refusal.clear();
    this.#raw.showRefused([]);
    this.#elsewhere = [];
    this.#showFaults(new Map());
  }

  /** Removes the faults that a changed member may have settled. */
  #settleFaults(changed: string): void {
    const before = [...this.#faults];
    for (const [place, faults] of before) {
      const left = faults.filter(({ path }) => !mayChange(changed, path));
      if (left.length === faults.length) continue;
      this.#faults.set(place, left);
      place.showFaults(left.map((fault) => messageAt(place, fault)));
    }
    if (before.every(([place, faults]) => this.#faults.get(place) === faults)) return;
    const left = [...this.#elsewhere, ...[...this.#faults.values()].flat()];
    this.#raw.showRefused(left);
    if (left.length === 0) this.#refusal.clear();
  }

  /** Whether the reader sees what will be sent. If not, shows it and says so. */
  #isSendable(): boolean {
    if (this.#tab === RAW) {
      if (this.#draft.fault !== undefined) this.#raw.focus();
      return this.#draft.fault === undefined;
    }
    const broken = this.#fields.controls.find((control) => control.broken !== undefined);
    if (broken !== undefined) reveal(broken.element);
    broken?.focus();
    if (this.#draft.fault !== undefined) this.#refusal.say(WAITING);
    return broken === undefined && this.#draft.fault === undefined;
  }

  #refused(error: unknown): void {
    if (error instanceof MucastApiError) this.#showProblem(error.problem);
    else this.#refusal.say(NO_RESPONSE);
  }

  #showProblem(problem: Problem): void {
    // The service has another payload under this key, for example from a command that was edited after it was copied.
    if (problem.code === "idempotency_conflict") this.#keys.renew();
    this.#showCommand();
    const faults = faultsIn(problem);
    const { at, elsewhere } = placeFaults(
      faults,
      this.#fields.places.filter(isShown).map(({ path }) => path),
    );
    const placed = faults.length - elsewhere.length;
    this.#refusal.showProblem(problem, elsewhere, placed, "next to the fields and below the JSON");
    this.#raw.showRefused(faults);
    this.#elsewhere = elsewhere;
    this.#showFaults(at)?.focus();
  }

  /** Shows faults by place, and removes all others. @returns the element with the first fault. */
  #showFaults(byPlace: ReadonlyMap<string, readonly PlacedFault[]>): { focus(): void } | undefined {
    const { places } = this.#fields;
    this.#faults.clear();
    for (const place of places) {
      const faults = byPlace.get(pathName(place.path)) ?? [];
      place.showFaults(faults.map((fault) => messageAt(place, fault)));
      if (faults.length === 0) continue;
      this.#faults.set(place, faults);
      reveal(place.element);
    }
    if (byPlace.size === 0) return undefined;
    return this.#tab === RAW ? this.#raw : places.find(({ path }) => byPlace.has(pathName(path)));
  }
}

/** A section has many members, so it names the one that is meant. */
function messageAt({ isSection }: FaultPlace, { path, message }: PlacedFault): string {
  return isSection ? `${path}: ${message}` : message;
}

/** Whether the fields currently show a place; entries of another network are hidden. */
function isShown({ element: place }: FaultPlace): boolean {
  const hidden = place.closest("[hidden]");
  return hidden === null || hidden.getAttribute("role") === "tabpanel";
}

type Submit = (client: MucastClient, text: string, options: SubmitOptions) => Promise<OperationView>;

const SUBMITS: Readonly<Record<SubmittedOperation, Submit>> = {
  run_ml_job: (client, text, options) => client.runMlJob(text, options),
  run_dl_job: (client, text, options) => client.runDlJob(text, options),
  audit: (client, text, options) => client.audit(text, options),
  replay: (client, text, options) => client.replay(text, options),
};

/** Submits the JSON text of a payload unchanged. @throws what the client throws. */
function submitPayload(
  client: MucastClient,
  operation: SubmittedOperation,
  text: string,
  options: SubmitOptions,
): Promise<OperationView> {
  return SUBMITS[operation](client, text, options);
}

/** Maximum number of texts whose keys a form remembers. */
const MAX_KEYS = 20;

/**
 * Idempotency keys of one form. A sent text keeps its key, so a double click, a retry and the curl command are one operation; another
 * text is another request. A newly opened form starts with a new key.
 */
export class SubmissionKey {
  #next = newKey();
  readonly #sent = new Map<string, string>();

  /** The key for this text. */
  of(text: string): string {
    return this.#sent.get(text) ?? this.#next;
  }

  /** The same, for a request that is sent now. */
  sent(text: string): string {
    const key = this.of(text);
    if (key !== this.#next) return key;
    this.#sent.set(text, key);
    this.#next = newKey();
    if (this.#sent.size > MAX_KEYS) this.#sent.delete(this.#sent.keys().next().value!);
    return key;
  }

  /** Uses new keys, also for texts that were already sent. */
  renew(): void {
    this.#sent.clear();
    this.#next = newKey();
  }
}

/** 128 random bits. Not crypto.randomUUID, which pages over plain http lack. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
