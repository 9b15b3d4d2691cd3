import { MucastApiError } from "../../../client/index.ts";
import { element, fill } from "../../dom.ts";
import { errorWords } from "../../problem.ts";
import { shown } from "../../shown-text.ts";
import type { ViewContext } from "../../view.ts";
import { bytes } from "../../words.ts";
import { faultLine, newId } from "../fields/field-control.ts";
import { BLOB_KINDS, type BlobName, blobName, isBlobId, KIND_WORDS, suggestedName } from "./blob-name.ts";
import { onBytesSent } from "./upload-fetch.ts";

/** One file that the reader has selected. */
export interface UploadRow {
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

export interface UploadRowOptions {
  readonly file: File;
  readonly context: ViewContext;
  /** Called with the URL when it is stored. */
  readonly stored: (name: BlobName, url: string) => void;
  readonly removed: () => void;
}

/** A request that is aborted after its last byte may already have been answered. */
const STOPPED = "Stopped. The file is stored only if it had been sent completely.";

/** The first request has `If-None-Match: *`; if such a blob exists, the reader decides whether to replace it. */
export function makeUploadRow({ file, context, stored, removed }: UploadRowOptions): UploadRow {
  const id = newId();
  const suggested = suggestedName(file.name);
  const kind = element(
    "select",
    { id: `${id}-kind` },
    ...BLOB_KINDS.map((each) =>
      element("option", { value: each, selected: each === suggested.kind }, `${KIND_WORDS[each]} (${each})`),
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
  const said = element("p", { role: "status", tabindex: "-1" });
  const actions = element("p", { class: "actions" });
  let state: "ready" | "sending" | "stored" = "ready";
  const chosen = (): BlobName => ({ kind: kind.value as BlobName["kind"], id: name.value.trim() });
  const tell = () => {
    fault.show(isBlobId(chosen().id) ? [] : ["1 to 64 letters, digits, _ or -."]);
    fill(target, "It is stored as ", shown(blobName(chosen())), ".");
  };
  const button = (words: string, act: () => void) =>
    element("button", { type: "button", onclick: act }, words);
  const show = (words: readonly string[], buttons: readonly HTMLElement[], isFailure = false) => {
    const hadFocus = actions.contains(document.activeElement);
    said.className = isFailure ? "failed" : "";
    fill(said, ...words.flatMap((sentence, i) => [i > 0 && " ", shown(sentence, 1_000)]));
    fill(actions, ...buttons);
    if (hadFocus) (buttons[0] ?? said).focus();
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
      element("p", { class: "file" }, shown(file.name, 80), ` (${bytes(file.size)})`),
      element(
        "div",
        { class: "beside" },
        element("div", { class: "field" }, element("label", { for: `${id}-kind` }, "Type"), kind),
        element("div", { class: "field" }, element("label", { for: `${id}-id` }, "Id"), name),
      ),
      target,
      fault.element,
      progress,
      said,
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
