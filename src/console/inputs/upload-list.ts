import type { VNode } from "preact";
import { useId, useRef, useState } from "preact/hooks";
import { MucastApiError } from "../../client/index.ts";
import { countedRows } from "../../view/figures.ts";
import { h, html, onText, select } from "../../view/html.ts";
import { bdi, bytes } from "../../view/text.ts";
import { errorWords } from "../problem.ts";
import { useView } from "../view.ts";
import {
  BLOB_KINDS,
  type BlobKind,
  type BlobName,
  blobName,
  isBlobId,
  KIND_LABELS,
  suggestedName,
} from "./blob-name.ts";
import { DropZone } from "./drop-zone.ts";
import { onBytesSent } from "./upload-fetch.ts";

const MAX_FILES = 20;

/** A request that is aborted after its last byte may already have been answered. */
const STOPPED = "Stopped. The file is stored only if it had been sent completely.";

/** A file that the reader has chosen. */
interface Upload {
  readonly key: number;
  readonly file: File;
  readonly name: BlobName;
  readonly state: "ready" | "exists" | "failed" | "stored";
  readonly said: string;
}

/** The upload that is sent now. */
interface Sending {
  readonly key: number;
  readonly sent: number;
  stop(): void;
}

/** Files to upload, chosen or dropped, which are sent one after the other. A stored blob is replaced only on request. */
export function UploadList({ onStored }: { onStored(name: BlobName, url: string): void }): VNode {
  const { client, signal: left } = useView();
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const [sending, setSending] = useState<Sending>();
  const [hasLeftOut, setLeftOut] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const made = useRef(0);
  const change = (key: number, more: Partial<Upload>) =>
    setUploads((all) => all.map((each) => (each.key === key ? { ...each, ...more } : each)));
  const add = (files: readonly File[]) => {
    const kept = uploads.filter(({ state }) => state !== "stored");
    const added = files.slice(0, MAX_FILES - kept.length).map((file): Upload => {
      made.current += 1;
      return { key: made.current, file, name: suggestedName(file.name), state: "ready", said: "" };
    });
    setLeftOut(added.length < files.length);
    setUploads([...kept, ...added]);
    input.current!.value = "";
  };
  const send = async ({ key, file, name }: Upload, isNew: boolean) => {
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, left]);
    const show = (sent: number) => setSending({ key, sent, stop: () => ended.abort() });
    show(0);
    change(key, { state: "ready", said: `Uploading ${bytes(file.size)}…` });
    onBytesSent(file, show);
    try {
      const { url, created } = await client.putBlob(blobName(name), file, { isNew, signal });
      const end = created ? "." : ", replacing the previous blob.";
      change(key, { state: "stored", said: `Stored as ${blobName(name)}${end}` });
      onStored(name, url);
    } catch (error) {
      if (error instanceof MucastApiError && error.code === "precondition_failed") {
        const said = `${blobName(name)} already exists. Give this file a different id or replace the stored blob.`;
        change(key, { state: "exists", said });
      } else if (ended.signal.aborted) change(key, { said: STOPPED });
      else change(key, { state: "failed", said: errorWords(error) });
    }
    setSending(undefined);
  };
  const sendAll = async () => {
    for (const upload of uploads.filter(({ state, name }) => state !== "stored" && isBlobId(name.id))) {
      const own = blobName(upload.name);
      if (left.aborted) return;
      if (uploads.filter(({ name }) => blobName(name) === own).length === 1) await send(upload, true);
      else {
        const said = `Another file in this list has the name ${own}. Give one of them a different id.`;
        change(upload.key, { state: "failed", said });
      }
    }
  };
  const rows = uploads.map((upload) =>
    h(UploadRow, {
      key: upload.key,
      upload,
      sending: sending?.key === upload.key ? sending : undefined,
      isBusy: sending !== undefined,
      onName: (name) => change(upload.key, { name }),
      onReplace: () => void send(upload, false),
      onRemove: () => {
        setUploads(uploads.filter((each) => each !== upload));
        input.current!.focus();
      },
    }),
  );
  const hint = `feature_engine_<id>.json and data_extractor_<id>.json, optionally gzipped, or with .parquet; at most ${countedRows(MAX_FILES, "file")}. Choose files or drop them here.`;
  return html`<div>
    ${h(DropZone, { label: "Files", hint, accept: ".json,.parquet,.gz", isMultiple: true, input, onFiles: add })}
    <p role="status">${hasLeftOut && `Only ${MAX_FILES} files at a time; the others were not added.`}</p>
    <ul class="uploads">${rows}</ul>
    <p class="actions">
      <button type="button" class="main" disabled=${rows.length === 0 || sending !== undefined} onClick=${sendAll}>Upload</button>
    </p>
  </div>`;
}

const KINDS = BLOB_KINDS.map((kind) => [kind, `${KIND_LABELS[kind]} (${kind})`] as const);

interface UploadRowProps {
  readonly upload: Upload;
  /** Undefined while it is not sent. */
  readonly sending: Sending | undefined;
  readonly isBusy: boolean;
  onName(name: BlobName): void;
  onReplace(): void;
  onRemove(): void;
}

function UploadRow({ upload, sending, isBusy, onName, onReplace, onRemove }: UploadRowProps): VNode {
  const { file, name, state, said } = upload;
  const id = useId();
  const status = useRef<HTMLElement>(null);
  // The button that the reader has used goes away.
  const from = (act: () => void) => () => {
    status.current!.focus();
    act();
  };
  const isFixed = isBusy || state === "stored";
  return html`<li class="upload">
    <p class="file">${bdi(file.name, 80)} (${bytes(file.size)})</p>
    <div class="beside">
      <div class="field"><label for=${`${id}-kind`}>Type</label>
        ${select(name.kind, KINDS, {
          id: `${id}-kind`,
          disabled: isFixed,
          onChange: onText((kind) => onName({ ...name, kind: kind as BlobKind })),
        })}
      </div>
      <div class="field"><label for=${`${id}-id`}>Id</label>
        <input id=${`${id}-id`} type="text" value=${name.id} disabled=${isFixed} maxlength="64" autocomplete="off" spellcheck=${false}
          autocapitalize="off" aria-describedby=${`${id}-name ${id}-fault`}
          onInput=${onText((text) => onName({ ...name, id: text.trim() }))} />
      </div>
    </div>
    ${state !== "stored" && html`<p class="hint" id=${`${id}-name`}>It will be stored as ${bdi(blobName(name))}.</p>`}
    <p class="fault" id=${`${id}-fault`} hidden=${isBlobId(name.id)}>1 to 64 letters, digits, _ or -.</p>
    ${sending && html`<progress max=${Math.max(1, file.size)} value=${sending.sent} aria-label="Bytes sent" />`}
    <p role="status" tabindex="-1" ref=${status} class=${state === "exists" || state === "failed" ? "failed" : ""}>${said !== "" && bdi(said, 1_000)}</p>
    <p class="actions">
      ${sending && html`<button type="button" onClick=${from(sending.stop)}>Stop</button>`}
      ${!isBusy && state === "exists" && html`<button type="button" onClick=${from(onReplace)}>Replace</button>`}
      ${!isBusy && state !== "stored" && html`<button type="button" onClick=${onRemove}>Remove</button>`}
    </p>
  </li>`;
}
