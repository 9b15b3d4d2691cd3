import type { TargetedEvent, VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import {
  MucastApiError,
  type MucastClient,
  type OperationView,
  type SubmitOptions,
} from "../../client/index.ts";
import type { SubmittedOperation } from "../../contract/config/job-operations.ts";
import { curlLine } from "../../contract/curl-line.ts";
import type { Problem } from "../../contract/problems/problem.ts";
import { type Child, h, html } from "../../view/html.ts";
import { useView } from "../view.ts";
import { Command } from "./command.ts";
import { type Draft, draftValue, readDraft, withMember } from "./draft.ts";
import { faultLine, faultList, type PlacedFault, pathName, useRefusal } from "./faults.ts";
import { Fields, type Folds, type FormState, shownPaths, VisibleForm } from "./field.ts";
import { useKeptDraft } from "./kept-drafts.ts";
import { MAX_PAYLOAD_LENGTH, type Path } from "./payload-tree.ts";
import { type Field, type FormPart, prunable } from "./schema-fields.ts";

const NO_RESPONSE =
  "The service did not respond, so the request may or may not have been accepted. Send it again: with the same idempotency key, it is the same operation.";
const WAITING = "The JSON has an error. Until you fix it, the fields show the last valid values.";
const CURL_HINT =
  "For any POSIX shell. The command uses the idempotency key of this form: if you send it twice, or send both the form and the command, you get one operation.";
const RAW_HINT =
  "This exact text is sent, so numbers keep their spelling. The fields show the same values; changing a field rewrites this text.";

interface PayloadFormProps {
  readonly operation: SubmittedOperation;
  readonly parts: readonly FormPart[];
  /** The parts that are folded at first. */
  readonly folds?: Folds;
  readonly draft: Draft;
  onDraft(draft: Draft): void;
  /** The label of the button. */
  readonly submit: string;
  /** Whether the reader has chosen what the payload needs from elsewhere on the page. If not, points at it. */
  isReady?(): boolean;
  /** Why an earlier operation with this payload failed. */
  readonly problem?: Problem | undefined;
  readonly extras?: Readonly<Record<string, () => Child>>;
  offered?(field: Field): readonly string[];
}

/**
 * The form of one payload: fields by its schema, the same as JSON text, the command that sends it, and the button that does. Faults
 * from the service appear at their fields.
 */
export function PayloadForm(props: PayloadFormProps): VNode {
  const { operation, parts, folds = {}, draft, onDraft, submit, isReady, problem, extras, offered } = props;
  const { client, baseUrl, hasCredentials, signal, notify, navigate } = useView();
  const [broken, setBroken] = useState<FormState["broken"]>(new Map());
  const [isSending, setSending] = useState(false);
  const [nonce, setNonce] = useState(newNonce);
  const form = useRef<HTMLFormElement>(null);
  const busy = useRef(false);
  /** The newest draft, of which the last one by this form itself. */
  const now = useRef(draft);
  const own = useRef(draft);
  const seen = useRef(draft);
  now.current = draft;
  useKeptDraft(operation, draft.text, signal);
  const valueAt = (path: Path) => draftValue(draft, path);
  const refusal = useRefusal(form, shownPaths(parts, valueAt), "next to the fields and below the JSON");
  const key = keyOf(nonce, draft.text);
  const state: FormState = {
    valueAt,
    set: (path, value, json) => {
      own.current = withMember(now.current, { path, value, json }, prunable(parts));
      now.current = own.current;
      onDraft(own.current);
      setBroken(new Map([...broken].filter(([name]) => name !== pathName(path))));
      refusal.settle(pathName(path));
    },
    faults: refusal.at,
    broken,
    setBroken: (path, text, message) => setBroken(new Map([...broken, [pathName(path), { text, message }]])),
    ...(extras && { extras }),
    ...(offered && { offered }),
  };
  const explain = (found: Problem) => {
    // The service has another payload under this key, for example from a command that was edited after it was copied.
    if (found.code === "idempotency_conflict") setNonce(newNonce());
    refusal.explain(found);
  };
  useEffect(() => {
    if (problem !== undefined) explain(problem);
  }, []);
  // A change from elsewhere on the page, such as an example config.
  useEffect(() => {
    const before = seen.current;
    seen.current = draft;
    if (draft === own.current || draft === before) return;
    const names = Object.keys({ ...(before.tree as object), ...(draft.tree as object) });
    setBroken(new Map());
    refusal.settle(...names.filter((name) => draftValue(before, [name]) !== draftValue(draft, [name])));
  }, [draft]);
  const send = async () => {
    const { text } = draft;
    busy.current = true;
    setSending(true);
    refusal.clear();
    try {
      const { id } = await SUBMITS[operation](client, text, { idempotencyKey: key, signal });
      notify(`Submitted as ${id}.`, "done", id);
      navigate(`#/operations/${id}`);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof MucastApiError) explain(error.problem);
      else refusal.say(NO_RESPONSE);
    } finally {
      busy.current = false;
      setSending(false);
    }
  };
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (busy.current) return;
    // The reader must see what will be sent.
    if (draft.fault !== undefined) refusal.say(WAITING);
    else if (broken.size > 0) refusal.point();
    else if (isReady?.() !== false) void send();
  };
  const onText = (text: string) => {
    refusal.clear();
    setBroken(new Map());
    own.current = readDraft(text, draft);
    onDraft(own.current);
  };
  const command = curlLine({
    method: "POST",
    url: `${baseUrl}v1/${operation}`,
    headers: { "Content-Type": "application/json", "Idempotency-Key": key },
    hasKey: hasCredentials,
    body: draft.text,
  });
  return html`<form class="payload" novalidate ref=${form} onSubmit=${onSubmit}>
    ${refusal.box}
    <div class="editor">
      <div>
        <p class="fault" hidden=${draft.fault === undefined}>${WAITING}</p>
        <fieldset class="fields" disabled=${draft.fault !== undefined}>
          ${h(VisibleForm.Provider, { value: state, children: h(Fields, { parts, folds }) })}
        </fieldset>
      </div>
      ${h(RawPayload, { draft, faults: refusal.faults, onText })}
    </div>
    ${h(Command, { summary: "Show the request as curl", hint: CURL_HINT, text: command })}
    <p class="actions"><button type="submit" class="main" aria-disabled=${isSending ? "true" : "false"}>${submit}</button></p>
    <p role="status">${isSending && "Sending… If the service is busy or offline, the request is sent again."}</p>
  </form>`;
}

type Submit = (client: MucastClient, text: string, options: SubmitOptions) => Promise<OperationView>;

const SUBMITS: Readonly<Record<SubmittedOperation, Submit>> = {
  run_ml_job: (client, text, options) => client.runMlJob(text, options),
  run_dl_job: (client, text, options) => client.runDlJob(text, options),
  audit: (client, text, options) => client.audit(text, options),
  replay: (client, text, options) => client.replay(text, options),
};

/** 128 random bits, for the keys of one form. Not crypto.randomUUID, which pages over plain http lack. */
function newNonce(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}

/**
 * The idempotency key of a text: a double click, a retry and the curl command are one operation, and another text is another request. By
 * FNV-1a; of two texts with one hash, the service refuses the second, which then gets another key.
 */
export function keyOf(nonce: string, text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return `console-${nonce}-${hash.toString(16)}`;
}

interface RawPayloadProps {
  readonly draft: Draft;
  /** What the service found in it. */
  readonly faults: readonly PlacedFault[];
  onText(text: string): void;
}

/** The payload as JSON text that the reader can edit. */
function RawPayload({ draft, faults, onText }: RawPayloadProps): VNode {
  const id = useId();
  // The reader's own characters stay unchanged while they are typed.
  const [typed, setTyped] = useState<string>();
  const onInput = ({ currentTarget: { value } }: TargetedEvent<HTMLTextAreaElement>) => {
    setTyped(value);
    onText(value);
  };
  return html`<div><div class="field">
    <label for=${id}>Payload</label>
    <textarea id=${id} class="code raw" rows="24" autocomplete="off" spellcheck=${false} autocapitalize="off"
      maxlength=${MAX_PAYLOAD_LENGTH} value=${typed ?? draft.text} aria-invalid=${draft.fault === undefined ? undefined : "true"}
      aria-describedby=${`${id}-hint ${id}-fault ${id}-refused`} onInput=${onInput} onBlur=${() => setTyped(undefined)} />
    ${faultLine(draft.fault === undefined ? [] : [draft.fault], `${id}-fault`)}
    ${faultList(faults, `${id}-refused`)}
    <p class="hint" id=${`${id}-hint`}>${RAW_HINT}</p>
  </div></div>`;
}
