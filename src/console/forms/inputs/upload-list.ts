import { element, fill } from "../../dom.ts";
import type { ViewContext } from "../../view.ts";
import { counted } from "../../words.ts";
import { newId } from "../fields/field-control.ts";
import type { BlobName } from "./blob-name.ts";
import { makeUploadRow, type UploadRow } from "./upload-row.ts";

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
    accept: ".json,.gz",
    "aria-describedby": `${id}-hint`,
  });
  const list = element("ul", { class: "uploads" });
  const said = element("p", { role: "status" });
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
    fill(said, files.length > room && `Only ${MAX_FILES} files at a time; the others were not added.`);
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
      `feature_engine_<id>.json and data_extractor_<id>.json, optionally gzipped; at most ${counted(MAX_FILES, "file")}. Choose files or drop them here.`,
    ),
  );
  takeDrops(zone, addFiles);
  return element("div", {}, zone, said, list, element("p", { class: "actions" }, button));
}

/** @param dropped gets the dropped files; folders are ignored. */
export function takeDrops(zone: HTMLElement, dropped: (files: readonly File[]) => void): void {
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
