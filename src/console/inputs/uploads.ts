import type { RefObject, TargetedEvent, VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { MucastApiError } from "../../client/index.ts";
import { type Child, h, html, onText } from "../../view/html.ts";
import { bdi, bytes } from "../../view/text.ts";
import { errorWords, useView } from "../view.ts";
import type { ReadyInputs } from "./data-section.ts";

const HINT =
  "feature_engine_<id>.json and data_extractor_<id>.json, optionally gzipped, or with .parquet. Choose files or drop them on the field.";
/** A request that is aborted after its last byte may already have been answered. */
const STOPPED = "Stopped. The file is stored only if it had been sent completely.";

interface UploadListProps {
  onStored(inputs: ReadyInputs): void;
}

/** Files that are uploaded as soon as they are chosen; one whose name the service does not accept waits for another name. */
export function UploadList({ onStored }: UploadListProps): VNode {
  const [files, setFiles] = useState<readonly File[]>([]);
  const input = useRef<HTMLInputElement>(null);
  const add = (added: readonly File[]) => {
    setFiles([...files, ...added]);
    input.current!.value = "";
  };
  return html`<div>
    ${h(FileField, { label: "Files", hint: HINT, accept: ".json,.parquet,.gz", isMultiple: true, input, onFiles: add })}
    <ul class="uploads">${files.map((file, i) => h(Upload, { key: i, file, onStored }))}</ul>
  </div>`;
}

interface Sending {
  readonly sent: number;
  readonly stop: AbortController;
}

/** One file: the name that it gets, and how far it is. A stored blob is replaced only on request. */
function Upload({ file, onStored }: UploadListProps & { readonly file: File }): VNode {
  const { client, signal: left } = useView();
  const [name, setName] = useState(() => suggestedName(file.name));
  const [state, setState] = useState<"new" | "exists" | "failed" | "stored">("new");
  const [said, say] = useState("");
  const [sending, setSending] = useState<Sending>();
  const id = useId();
  const status = useRef<HTMLElement>(null);
  const isValid = INPUT_NAME.test(name);
  const send = async () => {
    const stop = new AbortController();
    setSending({ sent: 0, stop });
    say(`Uploading ${bytes(file.size)}…`);
    onBytesSent(file, (sent) => setSending({ sent, stop }));
    try {
      const options = { isNew: state !== "exists", signal: AbortSignal.any([stop.signal, left]) };
      const { url, created } = await client.putBlob(name, file, options);
      setState("stored");
      say(`Stored as ${name}${created ? "." : ", replacing the previous blob."}`);
      onStored(
        inputName(name)!.kind === "feature_engine" ? { feature_url: url } : { data_extractor_url: url },
      );
    } catch (error) {
      const exists = error instanceof MucastApiError && error.code === "precondition_failed";
      setState(exists ? "exists" : "failed");
      if (exists) say(`${name} already exists. Give this file a different name or replace the stored blob.`);
      else say(stop.signal.aborted ? STOPPED : errorWords(error));
    }
    setSending(undefined);
  };
  useEffect(() => {
    if (inputName(name)?.id === inputName(file.name.replace(/\.gz$/, ""))?.id) void send();
  }, []);
  const rename = (text: string) => {
    setName(text.trim());
    setState("new");
  };
  // The button that the reader has used goes away.
  const from = (act: () => void) => () => {
    status.current!.focus();
    act();
  };
  return html`<li class="upload">
    <p class="file">${bdi(file.name, 80)} (${bytes(file.size)})</p>
    ${
      state !== "stored" &&
      html`<div class="field"><label for=${id}>Store as</label>
        <input id=${id} type="text" value=${name} disabled=${sending !== undefined} maxlength="100" autocomplete="off" spellcheck=${false}
          autocapitalize="off" aria-describedby=${`${id}-fault`} onInput=${onText(rename)} />
        <p class="fault" id=${`${id}-fault`} hidden=${isValid}>feature_engine_ or data_extractor_, 1 to 64 letters, digits, _ or -, and .json or .parquet.</p>
      </div>`
    }
    ${sending && html`<progress max=${Math.max(1, file.size)} value=${sending.sent} aria-label="Bytes sent" />`}
    <p role="status" tabindex="-1" ref=${status} class=${state === "exists" || state === "failed" ? "failed" : ""}>${said !== "" && bdi(said, 1_000)}</p>
    <p class="actions">
      ${sending && html`<button type="button" onClick=${from(() => sending.stop.abort())}>Stop</button>`}
      ${
        sending === undefined &&
        state !== "stored" &&
        html`<button type="button" disabled=${!isValid} onClick=${from(send)}>${state === "exists" ? "Replace" : "Upload"}</button>`
      }
    </p>
  </li>`;
}

interface FileFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly accept: string;
  readonly isMultiple?: boolean;
  readonly input: RefObject<HTMLInputElement | null>;
  /** Gets the files that the reader has chosen, or has dropped onto the field. */
  onFiles(files: readonly File[]): void;
  /** Below the hint. */
  readonly said?: Child;
}

export function FileField({
  label,
  hint,
  accept,
  isMultiple = false,
  input,
  onFiles,
  said,
}: FileFieldProps): VNode {
  const id = useId();
  return html`<div class="files">
    <label for=${id}>${label}</label>
    <input id=${id} ref=${input} type="file" multiple=${isMultiple} accept=${accept} aria-describedby=${`${id}-hint ${id}-said`}
      onChange=${({ currentTarget: { files } }: TargetedEvent<HTMLInputElement>) => onFiles([...(files ?? [])])} />
    <p class="hint" id=${`${id}-hint`}>${hint}</p>
    <p class="file" id=${`${id}-said`}>${said}</p>
  </div>`;
}

const listeners = new WeakMap<Blob, (sent: number) => void>();

/** Calls `listener` with the number of sent bytes of a body, each time `uploadFetch` sends it or a form whose part `prices` it is. */
export function onBytesSent(body: Blob, listener: (sent: number) => void): void {
  listeners.set(body, listener);
}

/** `fetch`. A body with a listener is sent with XMLHttpRequest, since fetch does not report how much of a body was sent. */
export const uploadFetch: typeof fetch = (input, init = {}) => {
  const { body } = init;
  const file = body instanceof FormData ? body.get("prices") : body;
  const listener = file instanceof Blob ? listeners.get(file) : undefined;
  if (listener === undefined) return fetch(input, init);
  return send(input instanceof Request ? input.url : String(input), init, listener);
};

function send(url: string, init: RequestInit, listener: (sent: number) => void): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const { signal } = init;
  const request = new XMLHttpRequest();
  const abort = () => request.abort();
  request.open(init.method ?? "GET", url);
  request.responseType = "text";
  for (const [name, value] of new Headers(init.headers)) request.setRequestHeader(name, value);
  request.upload.addEventListener("progress", ({ loaded }) => listener(loaded));
  request.addEventListener("load", () => resolve(answerOf(request)));
  request.addEventListener("error", () => reject(new TypeError("the request has failed")));
  request.addEventListener("abort", () =>
    reject(signal?.reason ?? new DOMException("aborted", "AbortError")),
  );
  request.addEventListener("loadend", () => signal?.removeEventListener("abort", abort));
  signal?.throwIfAborted();
  signal?.addEventListener("abort", abort, { once: true });
  request.send(init.body as Blob | FormData);
  return promise;
}

function answerOf(request: XMLHttpRequest): Response {
  const lines = request.getAllResponseHeaders().trim().split("\r\n");
  const headers = lines.map((line) => line.split(/: (.*)/, 2) as [string, string]);
  return new Response(request.responseText, { status: request.status, headers });
}

/** How the service names the inputs of jobs. */
export const INPUT_NAME = /^(feature_engine|data_extractor)_([A-Za-z0-9_-]{1,64})\.(json|parquet)$/;

/** The parts of an input's name; undefined for any other name. */
export function inputName(name: string) {
  const [, kind, id, format] = INPUT_NAME.exec(name) ?? [];
  return kind === undefined ? undefined : { kind, id: id!, format: format! };
}

/** A valid name for a file: its own name if it follows the rule, otherwise the closest one that does. */
export function suggestedName(file: string): string {
  const format = /\.parquet(?:\.gz)?$/i.test(file) ? "parquet" : "json";
  const bare = bareName(file);
  if (INPUT_NAME.test(`${bare}.${format}`)) return `${bare}.${format}`;
  const kind = /price|extract/i.test(bare) && !/feature/i.test(bare) ? "data_extractor" : "feature_engine";
  return `${kind}_${suggestedId(file)}.${format}`;
}

/** The closest valid id to the name of a file. */
export function suggestedId(file: string): string {
  const id = bareName(file)
    .replace(/^(?:feature_engine|data_extractor)_/, "")
    .replaceAll(/[^A-Za-z0-9_-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 64);
  return id === "" ? "upload" : id;
}

function bareName(file: string): string {
  return file.replace(/\.gz$/i, "").replace(/\.[A-Za-z0-9]{1,7}$/, "");
}
