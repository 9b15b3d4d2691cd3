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
import {
  faultLine,
  faultList,
  faultsIn,
  mayChange,
  type PlacedFault,
  pathName,
  placeFaults,
  refusalBox,
  refusalSentence,
  reveal,
} from "./faults.ts";
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
  const [faults, setFaults] = useState<readonly PlacedFault[]>([]);
  const [refusal, setRefusal] = useState<string>();
  /** Counts the refusals: each moves the focus to its first fault. */
  const [refused, setRefused] = useState(0);
  const [broken, setBroken] = useState<FormState["broken"]>(new Map());
  const [isSending, setSending] = useState(false);
  const [nonce, setNonce] = useState(newNonce);
  const [tab, setTab] = useState<"fields" | "json">("fields");
  const isWide = useWideScreen();
  const form = useRef<HTMLFormElement>(null);
  const busy = useRef(false);
  /** The newest draft, of which the last one by this form itself. */
  const now = useRef(draft);
  const own = useRef(draft);
  const seen = useRef(draft);
  now.current = draft;
  useKeptDraft(operation, draft.text, signal);
  const valueAt = (path: Path) => draftValue(draft, path);
  const { at, elsewhere } = placeFaults(faults, shownPaths(parts, valueAt));
  const key = keyOf(nonce, draft.text);
  const isRaw = !isWide && tab === "json";
  /** Removes the faults that changes of these members may have settled. */
  const settle = (...paths: readonly string[]) => {
    const left = faults.filter((fault) => !paths.some((path) => mayChange(path, fault.path)));
    setFaults(left);
    if (left.length < faults.length && left.length === 0) setRefusal(undefined);
  };
  const state: FormState = {
    valueAt,
    set: (path, value, json) => {
      own.current = withMember(now.current, { path, value, json }, prunable(parts));
      now.current = own.current;
      onDraft(own.current);
      setBroken(new Map([...broken].filter(([name]) => name !== pathName(path))));
      settle(pathName(path));
    },
    faults: at,
    broken,
    setBroken: (path, text, message) => setBroken(new Map([...broken, [pathName(path), { text, message }]])),
    ...(extras && { extras }),
    ...(offered && { offered }),
  };
  const explain = (found: Problem) => {
    // The service has another payload under this key, for example from a command that was edited after it was copied.
    if (found.code === "idempotency_conflict") setNonce(newNonce());
    const all = faultsIn(found);
    const placed =
      all.length -
      placeFaults(
        all,
        shownPaths(parts, (path) => draftValue(now.current, path)),
      ).elsewhere.length;
    setRefusal(refusalSentence(found, placed, "next to the fields and below the JSON"));
    setFaults(all);
    setRefused((count) => count + 1);
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
    settle(...names.filter((name) => draftValue(before, [name]) !== draftValue(draft, [name])));
  }, [draft]);
  useEffect(() => {
    if (refused === 0) return;
    const lines = [...form.current!.querySelectorAll<HTMLElement>(".fields .fault:not([hidden])")];
    for (const line of lines) reveal(line);
    const control = lines[0]?.closest(".field")?.querySelector<HTMLElement>("input, select, textarea");
    (isRaw ? form.current!.querySelector<HTMLElement>("textarea.raw") : (control ?? lines[0]))?.focus();
  }, [refused]);
  const send = async () => {
    const { text } = draft;
    busy.current = true;
    setSending(true);
    setFaults([]);
    setRefusal(undefined);
    try {
      const { id } = await SUBMITS[operation](client, text, { idempotencyKey: key, signal });
      notify(`Submitted as ${id}.`, "done", id);
      navigate(`#/operations/${id}`);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof MucastApiError) explain(error.problem);
      else setRefusal(NO_RESPONSE);
    } finally {
      busy.current = false;
      setSending(false);
    }
  };
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (busy.current) return;
    // The reader must see what will be sent.
    if (draft.fault !== undefined && isRaw) form.current!.querySelector<HTMLElement>("textarea.raw")!.focus();
    else if (draft.fault !== undefined) setRefusal(WAITING);
    else if (broken.size > 0) setRefused((count) => count + 1);
    else if (isReady?.() !== false) void send();
  };
  const fields = html`<div>
    <p class="fault" hidden=${draft.fault === undefined}>${WAITING}</p>
    <fieldset class="fields" disabled=${draft.fault !== undefined}>
      ${h(VisibleForm.Provider, { value: state, children: h(Fields, { parts, folds }) })}
    </fieldset>
  </div>`;
  const onText = (text: string) => {
    setFaults([]);
    setRefusal(undefined);
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
  const panels = { fields, json: h(RawPayload, { draft, faults, onText }) };
  return html`<form class="payload" novalidate ref=${form} onSubmit=${onSubmit}>
    ${refusalBox(refusal, elsewhere)}
    ${h(EditorTabs, { panels, tab, isWide, onTab: setTab })}
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

/** Wide enough for both panels beside each other; `console-forms.css` has the same width. */
const WIDE = "(min-width: 72rem)";

function useWideScreen(): boolean {
  const { signal } = useView();
  const [wide] = useState(() => matchMedia(WIDE));
  const [isWide, setWide] = useState(wide.matches);
  useEffect(() => wide.addEventListener("change", () => setWide(wide.matches), { signal }), []);
  return isWide;
}

const TABS = { fields: "Fields", json: "JSON" } as const;
type Tab = keyof typeof TABS;

interface EditorTabsProps {
  readonly panels: Readonly<Record<Tab, VNode>>;
  readonly tab: Tab;
  readonly isWide: boolean;
  onTab(tab: Tab): void;
}

/** Both panels on a wide screen, otherwise one at a time: the arrow keys, Home and End move between tabs, and Tab moves into the panel. */
function EditorTabs({ panels, tab, isWide, onTab }: EditorTabsProps): VNode {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const names = Object.keys(TABS) as Tab[];
  const onKeyDown = (event: KeyboardEvent) => {
    const at = names.indexOf(tab);
    const target = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: names.length - 1 }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const next = (target + names.length) % names.length;
    onTab(names[next]!);
    (list.current!.children[next] as HTMLElement).focus();
  };
  return html`<div class="tabs" role="tablist" aria-label="Request editor" hidden=${isWide} ref=${list} onKeyDown=${onKeyDown}>
      ${names.map(
        (
          name,
        ) => html`<button type="button" role="tab" id=${`${id}-${name}`} aria-controls=${`${id}-${name}-panel`}
          aria-selected=${name === tab ? "true" : "false"} tabindex=${name === tab ? 0 : -1} onClick=${() => onTab(name)}>${TABS[name]}</button>`,
      )}
    </div>
    <div class="editor">${names.map(
      (
        name,
      ) => html`<div key=${name} id=${`${id}-${name}-panel`} role=${isWide ? "group" : "tabpanel"} aria-labelledby=${`${id}-${name}`}
        hidden=${!isWide && name !== tab}>${panels[name]}</div>`,
    )}</div>`;
}
