import type { VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { MucastApiError } from "../../client/index.ts";
import { h, html, onText } from "../../view/html.ts";
import { bdi, bytes } from "../../view/text.ts";
import { errorWords } from "../problem.ts";
import { useView } from "../view.ts";
import { INPUT_NAME, inputName, suggestedName } from "./blob-name.ts";
import type { ReadyInputs } from "./data-section.ts";
import { FileField } from "./file-field.ts";
import { onBytesSent } from "./upload-fetch.ts";

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
