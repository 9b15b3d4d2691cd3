import { MucastApiError } from "../../../client/index.ts";
import { element, fill } from "../../dom.ts";
import { errorWords } from "../../problem.ts";
import type { ViewContext } from "../../view.ts";
import { bytes, counted, textElement } from "../../words.ts";
import { faultLine, newId } from "../fields/field-control.ts";
import { BLOB_KINDS, type BlobName, blobName, isBlobId, KIND_LABELS, suggestedName } from "./blob-name.ts";
import { onBytesSent } from "./upload-fetch.ts";

/** Maximum number of files in one list. */
const MAX_FILES = 20;

/**
 * Files to upload, selected or dropped. They are sent one after the other.
 * @param stored is called with each stored blob.
 */
export function makeUploadList(
  context: ViewContext,
  stored: (name: BlobName, url: string) => void,
): HTMLElement {
  const rows: UploadRow[] = [];
  const id = newId();
  const input = element("input", {
    id,
    type: "file",
    multiple: true,
    accept: ".json,.parquet,.gz",
    "aria-describedby": `${id}-hint`,
  });
  const list = element("ul", { class: "uploads" });
  const status = element("p", { role: "status" });
  const button = element("button", { type: "button", class: "main", disabled: true }, "Upload");
  let isSending = false;
  const showRows = () => {
    fill(list, ...rows.map((row) => row.element));
    button.disabled = rows.length === 0;
  };
  const remove = (row: UploadRow) => {
    rows.splice(rows.indexOf(row), 1);
    showRows();
  };
  const addFiles = (files: readonly File[]) => {
    for (const row of rows.filter(({ state }) => state === "stored")) remove(row);
    const room = MAX_FILES - rows.length;
    for (const file of files.slice(0, room)) {
      const row = makeUploadRow({
        file,
        context,
        stored,
        removed: () => {
          remove(row);
          input.focus();
        },
      });
      rows.push(row);
    }
    fill(status, files.length > room && `Only ${MAX_FILES} files at a time; the others were not added.`);
    showRows();
  };
  const sendAll = async () => {
    if (isSending) return;
    isSending = true;
    const twice = rows.filter(
      (row) => row.state === "ready" && rows.some((other) => other !== row && other.name === row.name),
    );
    for (const row of twice)
      row.refuse(`Another file in this list has the name ${row.name}. Give one of them a different id.`);
    for (const row of rows)
      if (row.state === "ready" && !twice.includes(row) && !context.signal.aborted) await row.send();
    isSending = false;
  };
  input.addEventListener("change", () => {
    addFiles([...(input.files ?? [])]);
    input.value = "";
  });
  button.addEventListener("click", () => void sendAll());
  const zone = element(
    "div",
    { class: "drop" },
    element("label", { for: id }, "Files"),
    input,
    element(
      "p",
      { class: "hint", id: `${id}-hint` },
      `feature_engine_<id>.json and data_extractor_<id>.json, optionally gzipped, or with .parquet; at most ${counted(MAX_FILES, "file")}. Choose files or drop them here.`,
    ),
  );
  onFilesDropped(zone, addFiles);
  return element("div", {}, zone, status, list, element("p", { class: "actions" }, button));
}

/** @param dropped gets the dropped files; folders are ignored. */
export function onFilesDropped(zone: HTMLElement, dropped: (files: readonly File[]) => void): void {
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    const items = [...(event.dataTransfer?.items ?? [])];
    const files = items.filter((item) => item.kind === "file" && !item.webkitGetAsEntry()?.isDirectory);
    dropped(files.flatMap((item) => item.getAsFile() ?? []));
  });
}

/** One file that the reader has selected. */
interface UploadRow {
  readonly element: HTMLElement;
  /** The name under which it will be stored. */
  readonly name: string;
  /** `ready` to be sent; `misnamed` if its id is invalid. */
  readonly state: "ready" | "misnamed" | "sending" | "stored";
  /** Shows what is wrong with it before it is sent. */
  refuse(message: string): void;
  /** Sends it; settles when it is stored, refused or canceled. */
  send(): Promise<void>;
}

interface UploadRowOptions {
  readonly file: File;
  readonly context: ViewContext;
  /** Called with the URL when it is stored. */
  readonly stored: (name: BlobName, url: string) => void;
  readonly removed: () => void;
}

/** A request that is aborted after its last byte may already have been answered. */
const STOPPED = "Stopped. The file is stored only if it had been sent completely.";

/** The first request has `If-None-Match: *`; if such a blob exists, the reader decides whether to replace it. */
function makeUploadRow({ file, context, stored, removed }: UploadRowOptions): UploadRow {
  const id = newId();
  const suggested = suggestedName(file.name);
  const kind = element(
    "select",
    { id: `${id}-kind` },
    ...BLOB_KINDS.map((each) =>
      element("option", { value: each, selected: each === suggested.kind }, `${KIND_LABELS[each]} (${each})`),
    ),
  );
  const name = element("input", {
    id: `${id}-id`,
    type: "text",
    value: suggested.id,
    maxlength: 64,
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "off",
    "aria-describedby": `${id}-name ${id}-fault`,
  });
  const fault = faultLine(`${id}-fault`);
  const target = element("p", { class: "hint", id: `${id}-name` });
  const progress = element("progress", {
    max: Math.max(1, file.size),
    value: 0,
    hidden: true,
    "aria-label": "Bytes sent",
  });
  const status = element("p", { role: "status", tabindex: "-1" });
  const actions = element("p", { class: "actions" });
  let state: "ready" | "sending" | "stored" = "ready";
  const chosen = (): BlobName => ({
    kind: kind.value as BlobName["kind"],
    id: name.value.trim(),
    format: suggested.format,
  });
  const tell = () => {
    fault.show(isBlobId(chosen().id) ? [] : ["1 to 64 letters, digits, _ or -."]);
    fill(target, "It will be stored as ", textElement(blobName(chosen())), ".");
  };
  const button = (words: string, act: () => void) =>
    element("button", { type: "button", onclick: act }, words);
  const show = (words: readonly string[], buttons: readonly HTMLElement[], isFailure = false) => {
    const hadFocus = actions.contains(document.activeElement);
    status.className = isFailure ? "failed" : "";
    fill(status, ...words.flatMap((sentence, i) => [i > 0 && " ", textElement(sentence, 1_000)]));
    fill(actions, ...buttons);
    if (hadFocus) (buttons[0] ?? status).focus();
  };
  const leave = button("Remove", removed);
  const send = async (isNew: boolean): Promise<void> => {
    const ended = new AbortController();
    const wanted = chosen();
    state = "sending";
    kind.disabled = true;
    name.disabled = true;
    progress.hidden = false;
    show([`Uploading ${bytes(file.size)}…`], [button("Stop", () => ended.abort())]);
    onBytesSent(file, (sent) => {
      progress.value = sent;
    });
    const signal = AbortSignal.any([ended.signal, context.signal]);
    try {
      const { url, created } = await context.client.putBlob(blobName(wanted), file, { isNew, signal });
      state = "stored";
      fill(target);
      const name = blobName(wanted);
      show([created ? `Stored as ${name}.` : `Stored as ${name}, replacing the previous blob.`], []);
      stored(wanted, url);
    } catch (error) {
      state = "ready";
      kind.disabled = false;
      name.disabled = false;
      if (error instanceof MucastApiError && error.code === "precondition_failed") {
        const words = `${blobName(wanted)} already exists. Give this file a different id or replace the stored blob.`;
        show([words], [button("Replace", () => void send(false)), leave], true);
      } else if (ended.signal.aborted) show([STOPPED], [leave]);
      else show([errorWords(error)], [leave], true);
    } finally {
      progress.hidden = true;
      progress.value = 0;
    }
  };
  kind.addEventListener("change", tell);
  name.addEventListener("input", tell);
  tell();
  show([], [leave]);
  return {
    element: element(
      "li",
      { class: "upload" },
      element("p", { class: "file" }, textElement(file.name, 80), ` (${bytes(file.size)})`),
      element(
        "div",
        { class: "beside" },
        element("div", { class: "field" }, element("label", { for: `${id}-kind` }, "Type"), kind),
        element("div", { class: "field" }, element("label", { for: `${id}-id` }, "Id"), name),
      ),
      target,
      fault.element,
      progress,
      status,
      actions,
    ),
    get name() {
      return blobName(chosen());
    },
    get state() {
      return state === "ready" && !isBlobId(chosen().id) ? "misnamed" : state;
    },
    refuse: (message) => show([message], [leave], true),
    send: () => send(true),
  };
}
