import { searchOf } from "../../../client/connection.ts";
import { MucastApiError, type PreparedBlobs, type PrepareOptions } from "../../../client/index.ts";
import { curlLine } from "../../../contract/curl-line.ts";
import { element, fill } from "../../dom.ts";
import { onBytesSent } from "../../inputs/upload-fetch.ts";
import type { ViewContext } from "../../view.ts";
import { bytes, counted, textElement } from "../../words.ts";
import { type Control, fieldControl, newId } from "../fields/field-control.ts";
import { foldedPart, reveal } from "../fields/folds.ts";
import type { Field } from "../fields/schema-fields.ts";
import { copiedCommand } from "../payload/copied-command.ts";
import { faultsIn, makeRefusal, pathName, placeFaults, type Refusal } from "../payload/refusal.ts";

/** Maximum number of warnings listed per CSV. */
const MAX_WARNINGS = 20;

/** Prepares both inputs from prices. @param prepared is called when they are stored. */
export function makePrepareForm(
  context: ViewContext,
  prepared: (blobs: PreparedBlobs) => void,
): HTMLFormElement {
  const values = new Map<string, string>();
  const command = copiedCommand(
    "Show the upload as curl",
    "For any POSIX shell, run in the folder of the files. The same files always give the same blobs.",
  );
  const controls = PREPARE_FIELDS.map((field) => {
    const control = fieldControl(field, (value) => {
      values.set(field.name, String(value ?? ""));
      showCommand();
    });
    if (DATES.has(field.name)) control.input.setAttribute("type", "date");
    return control;
  });
  const prices = fileChooser(PRICES, () => showCommand());
  const features = fileChooser(FEATURES, () => showCommand());
  const others = controls.filter((control) => !isUsual(control));
  const folded = foldedPart(
    OPTIONS,
    others.map((control) => control.element),
  );
  const refusal = makeRefusal();
  const progress = element("progress", { hidden: true, "aria-label": "Bytes sent" });
  const status = element("div", { role: "status" });
  const stop = element("button", { type: "button", hidden: true }, "Stop");
  const form = element(
    "form",
    { class: "prepare", novalidate: true },
    refusal.element,
    prices.element,
    features.element,
    ...controls.filter(isUsual).map((control) => control.element),
    folded.element,
    command.element,
    progress,
    element("p", { class: "actions" }, element("button", { type: "submit", class: "main" }, "Prepare"), stop),
    status,
  );
  const showCommand = () =>
    command.show(prepareCommand(context, values, prices.file?.name, features.file?.name));
  showCommand();
  let running: AbortController | undefined;
  stop.addEventListener("click", () => running?.abort());
  const send = async (file: File, table: File | undefined): Promise<void> => {
    const size = file.size + (table?.size ?? 0);
    const own = new AbortController();
    running = own;
    showRunning(true);
    onBytesSent(file, (sent) => {
      progress.value = sent;
      // The rest takes as long as reading the files does.
      if (sent >= size)
        fill(status, element("p", {}, "Upload complete. The service is preparing the blobs…"));
    });
    const signal = AbortSignal.any([own.signal, context.signal]);
    try {
      const blobs = await context.client.prepare(file, {
        ...prepareOptions(values),
        features: table,
        signal,
      });
      fill(status, ...resultOf(blobs));
      prepared(blobs);
    } catch (error) {
      fill(status, own.signal.aborted && element("p", {}, "Stopped. Nothing was stored."));
      if (!signal.aborted) showError(error, controls, refusal);
    } finally {
      running = undefined;
      showRunning(false);
    }

    function showRunning(isRunning: boolean): void {
      progress.hidden = !isRunning;
      stop.hidden = !isRunning;
      progress.max = Math.max(1, size);
      progress.value = 0;
      if (!isRunning) return;
      refusal.clear();
      for (const control of controls) control.showFaults([]);
      fill(status, element("p", {}, `Uploading ${bytes(size)}…`));
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running !== undefined) return;
    if (prices.file === undefined) prices.ask();
    else void send(prices.file, features.file);
  });
  return form;
}

/** @param file the name of the prices; undefined before a file is selected. @param table the name of the table of features. */
function prepareCommand(
  { baseUrl, hasCredentials }: ViewContext,
  values: ReadonlyMap<string, string>,
  file = "prices.csv",
  table?: string,
): string {
  return curlLine({
    method: "POST",
    url: `${baseUrl}v1/prepare${searchOf({ ...prepareOptions(values) })}`,
    hasKey: hasCredentials,
    ...(table === undefined
      ? { headers: { "Content-Type": "text/csv" }, body: { file } }
      : { body: { form: { prices: file, features: table } } }),
  });
}

/** Shows a refusal above the form, and faults of an option at its field. */
function showError(error: unknown, controls: readonly Control[], refusal: Refusal): void {
  if (!(error instanceof MucastApiError)) {
    refusal.say("The service did not respond. Send the files again: they give the same blobs.");
    return;
  }
  const faults = faultsIn(error.problem);
  const paths = controls.map(({ field }) => field.path);
  const { at, elsewhere } = placeFaults(faults, paths);
  refusal.showProblem(error.problem, elsewhere, faults.length - elsewhere.length, "next to the fields");
  const faulty = controls.filter(({ field }) => at.has(pathName(field.path)));
  for (const control of faulty)
    control.showFaults(at.get(pathName(control.field.path))!.map(({ message }) => message));
  for (const control of faulty) reveal(control.element);
  faulty[0]?.focus();
}

function resultOf(blobs: PreparedBlobs): HTMLElement[] {
  const { warnings, warning_count } = blobs;
  const listed = warnings
    .slice(0, MAX_WARNINGS)
    .map((warning) => element("li", {}, textElement(warning, 500)));
  const more = warning_count - listed.length;
  return [
    element("p", {}, preparedSentences(blobs).join(" ")),
    ...(listed.length === 0 ? [] : [element("ul", { class: "warnings" }, ...listed)]),
    ...(more > 0 ? [element("p", {}, `and ${more} more warnings`)] : []),
  ];
}

interface FileChooser {
  readonly element: HTMLElement;
  readonly file: File | undefined;
  /** Says that the reader must select a file. */
  ask(): void;
}

const PRICES = {
  label: "Prices",
  hint: "CSV or Parquet, with one column per ticker, or one row per date and ticker. A CSV may be gzipped. Choose a file or drop it here.",
};
const FEATURES = {
  label: "Features of your own (optional)",
  hint: "CSV or Parquet, with one row per date and ticker and one column per feature. Each value must be known at the close of its date.",
};

/** @param onChosen called when another file is selected. */
function fileChooser(words: typeof PRICES, onChosen: () => void): FileChooser {
  const id = newId();
  const name = element("p", { class: "file" });
  const input = element("input", {
    id,
    type: "file",
    accept: ".csv,.txt,.tsv,.gz,.parquet,text/csv",
    "aria-describedby": `${id}-hint ${id}-name`,
  });
  name.id = `${id}-name`;
  let file: File | undefined;
  const choose = (chosen: File | undefined) => {
    file = chosen;
    fill(name, ...(file === undefined ? [] : [textElement(file.name, 80), ` (${bytes(file.size)})`]));
    onChosen();
  };
  input.addEventListener("change", () => choose(input.files?.[0]));
  const zone = element(
    "div",
    { class: "drop" },
    element("label", { for: id }, words.label),
    input,
    element("p", { class: "hint", id: `${id}-hint` }, words.hint),
    name,
  );
  onFilesDropped(zone, ([first]) => {
    const chosen = new DataTransfer();
    if (first !== undefined) chosen.items.add(first);
    // Otherwise the chooser would name the previous file, or none.
    input.files = chosen.files;
    choose(first);
  });
  return {
    element: zone,
    get file() {
      return file;
    },
    ask: () => {
      fill(name, "Choose a file first.");
      input.focus();
    },
  };
}

/** @param dropped gets the dropped files; folders are ignored. */
function onFilesDropped(zone: HTMLElement, dropped: (files: readonly File[]) => void): void {
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

/** The options of a preparation, by the names of the request's query. */
export const PREPARE_FIELDS: readonly Field[] = [
  field(
    "id",
    "Part of the names of both blobs: 1 to 64 letters, digits, _ or -. Default: a digest of everything that the blobs depend on.",
  ),
  field("start", "The first date in the blobs. Earlier prices still contribute to the features."),
  field("end", "The last date in the blobs."),
  field(
    "learning_end",
    "The last date whose returns a job may learn from. Later returns are used to judge the job.",
  ),
  field("tickers", "Comma-separated; leave empty for all."),
  field("time_zone", "For stamps with times, like Europe/Berlin."),
  { ...field("only_features", "Leave out the features that the service computes."), kind: "flag" },
];

/** The option that most preparations need, and the others, which are folded. */
const OPTIONS = { shown: ["learning_end"], label: "Id, dates, tickers and features" };
const isUsual = ({ field }: Control) => OPTIONS.shown.includes(field.name);

const DATES: ReadonlySet<string> = new Set(["start", "end", "learning_end"]);

function field(name: string, description: string): Field {
  const part = { path: ["query", name], name, description, isRequired: false };
  return { ...part, kind: "text", byDefault: undefined, choices: [], bounds: {} };
}

/** The options of a request. @param values the text of each field, by its name. */
export function prepareOptions(
  values: ReadonlyMap<string, string>,
): Omit<PrepareOptions, "signal" | "features"> {
  const text = (name: string) => values.get(name)?.trim() || undefined;
  const tickers = text("tickers")
    ?.split(",")
    .map((ticker) => ticker.trim())
    .filter((ticker) => ticker !== "");
  return {
    id: text("id"),
    start: text("start"),
    end: text("end"),
    learning_end: text("learning_end"),
    time_zone: text("time_zone"),
    tickers: tickers?.length === 0 ? undefined : tickers,
    only_features: text("only_features") === "true" ? true : undefined,
  };
}

export function preparedSentences(prepared: PreparedBlobs): readonly string[] {
  const { ticker_count, dates, start, end, learning_end, features, written } = prepared;
  return [
    `${counted(ticker_count, "ticker")}, ${counted(dates, "date")} from ${start} to ${end}, ${counted(features.length, "feature")} each.`,
    learning_end === null
      ? "Without a training cut-off, a job learns from all dates."
      : `A job learns from returns up to ${learning_end}.`,
    written ? "Both blobs are stored." : "Both blobs were already stored, with the same bytes.",
  ];
}
