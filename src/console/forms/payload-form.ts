import type { VNode } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import {
  MucastApiError,
  type MucastClient,
  type OperationView,
  type SubmitOptions,
} from "../../client/index.ts";
import type { SubmittedOperation } from "../../contract/config/job-operations.ts";
import { curlLine } from "../../contract/curl-line.ts";
import type { Problem } from "../../contract/problems/problem.ts";
import { h, html, onText } from "../../view/html.ts";
import { SessionLost } from "../service.ts";
import { useView } from "../view.ts";
import { Command } from "./command.ts";
import { type Draft, readDraft, withValue } from "./draft.ts";
import { faultLine, faultList, useRefusal } from "./faults.ts";
import { Fields, type FormState, VisibleForm } from "./fields.ts";
import { isSpare, type JsonSchema, membersOf } from "./schema.ts";

const NO_RESPONSE =
  "The service did not respond, so the request may or may not have been accepted. Send it again: with the same idempotency key, it is the same operation.";
const WAITING = "The JSON has an error. Until you fix it, the fields show the last valid values.";
const CURL_HINT =
  "For any POSIX shell. The command uses the idempotency key of this form: if you send it twice, or send both the form and the command, you get one operation.";
const RAW_HINT =
  "This exact text is sent, so numbers keep their spelling. The fields show the same values; changing a field rewrites this text.";

interface PayloadFormProps extends Pick<FormState, "folds" | "below"> {
  readonly operation: SubmittedOperation;
  readonly schema: JsonSchema;
  readonly draft: Draft;
  onDraft(draft: Draft): void;
  readonly isSending: boolean;
  setSending(isSending: boolean): void;
  /** The label of the button. */
  readonly submit: string;
  /** Whether the reader has chosen what the payload needs from elsewhere on the page. If not, points at it. */
  isReady?(): boolean;
  /** Why an earlier operation with this payload failed. */
  readonly problem?: Problem | undefined;
}

/**
 * The form of one payload: fields by its schema, the same as JSON text, the command that sends it, and the button that does. Faults
 * from the service appear at their fields.
 */
export function PayloadForm(props: PayloadFormProps): VNode {
  const { operation, schema, draft, onDraft, isSending, setSending, submit, isReady, problem, ...more } =
    props;
  const { client, baseUrl, hasCredentials, signal, navigate } = useView();
  const id = useId();
  const members = membersOf(schema);
  const refusal = useRefusal(draft.tree, members, "next to the fields and below the JSON");
  /** By text: a double click, a retry and the curl command are one operation; another text is another request. */
  const keys = useRef(new Map<string, string>()).current;
  const key = keys.get(draft.text) ?? newKey();
  keys.set(draft.text, key);
  const latest = useRef(draft.text);
  latest.current = draft.text;
  useEffect(
    () => () => void (signal.reason instanceof SessionLost && lostDrafts.set(operation, latest.current)),
    [],
  );
  const explain = (found: Problem) => {
    // The service has another payload under this key, for example from a command that was edited after it was copied.
    if (found.code === "idempotency_conflict") keys.delete(draft.text);
    refusal.explain(found);
  };
  useEffect(() => {
    if (problem !== undefined) explain(problem);
  }, []);
  const send = async () => {
    setSending(true);
    refusal.clear();
    try {
      const { id } = await SUBMITS[operation](client, draft.text, { idempotencyKey: key, signal });
      navigate(`#/operations/${id}`);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof MucastApiError) explain(error.problem);
      else refusal.refuse(NO_RESPONSE);
    } finally {
      setSending(false);
    }
  };
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (draft.fault !== undefined) refusal.refuse(WAITING);
    else if (!isSending && isReady?.() !== false) void send();
  };
  const command = curlLine({
    method: "POST",
    url: `${baseUrl}v1/${operation}`,
    headers: { "Content-Type": "application/json", "Idempotency-Key": key },
    hasKey: hasCredentials,
    body: draft.text,
  });
  const state: FormState = {
    ...more,
    schema,
    tree: draft.tree,
    refusal: refusal.refusal,
    set: (path, value, json) =>
      onDraft(withValue(draft, path, value, { json, isSpare: (at) => isSpare(schema, at) })),
  };
  return html`<form class="payload" novalidate onSubmit=${onSubmit}>
    ${refusal.box}
    <div class="editor">
      <div>
        <p class="fault" hidden=${draft.fault === undefined}>${WAITING}</p>
        <fieldset class="fields" disabled=${draft.fault !== undefined}>
          ${h(VisibleForm.Provider, { value: state, children: h(Fields, { members }) })}
        </fieldset>
      </div>
      <div><div class="field">
        <label for=${id}>Payload</label>
        <textarea id=${id} class="code raw" rows="24" autocomplete="off" spellcheck=${false} autocapitalize="off"
          value=${draft.text} aria-invalid=${draft.fault === undefined ? undefined : "true"}
          aria-describedby=${`${id}-hint ${id}-fault ${id}-refused`}
          onInput=${onText((text) => onDraft(readDraft(text, draft)))} />
        ${faultLine(draft.fault === undefined ? [] : [draft.fault], `${id}-fault`)}
        ${faultList(refusal.current, `${id}-refused`)}
        <p class="hint" id=${`${id}-hint`}>${RAW_HINT}</p>
      </div></div>
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

/** 128 random bits. Not crypto.randomUUID, which pages over plain http lack. */
function newKey(): string {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  return `console-${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Unsent texts of readers who lost their session, in the memory of the page, until the form takes them back. */
export const lostDrafts = new Map<SubmittedOperation, string>();
