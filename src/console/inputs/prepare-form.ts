import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { searchOf } from "../../client/connection.ts";
import { MucastApiError, type PreparedBlobs, type PrepareOptions } from "../../client/index.ts";
import { curlLine } from "../../contract/curl-line.ts";
import { countedRows } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { bdi, bytes } from "../../view/text.ts";
import { Command } from "../forms/command.ts";
import {
  faultsIn,
  mayChange,
  type PlacedFault,
  pathName,
  placeFaults,
  refusalBox,
  refusalSentence,
  reveal,
} from "../forms/faults.ts";
import { Fields, type Folds, type FormState, VisibleForm } from "../forms/field.ts";
import type { Field } from "../forms/schema-fields.ts";
import { useView } from "../view.ts";
import { suggestedName } from "./blob-name.ts";
import { DropZone } from "./drop-zone.ts";
import { onBytesSent } from "./upload-fetch.ts";

/** Maximum number of warnings listed per CSV. */
const MAX_WARNINGS = 20;

/** The options of a preparation, by the names of the request's query. */
export const PREPARE_FIELDS: readonly Field[] = [
  field(
    "learning_end",
    "date",
    "The last date whose returns a job may learn from. Later returns are used to judge the job.",
  ),
  field(
    "id",
    "text",
    "What the data is called, in the names of both blobs: 1 to 64 letters, digits, _ or -. Empty: a digest of the data.",
  ),
  field("start", "date", "The first date in the blobs. Earlier prices still contribute to the features."),
  field("end", "date", "The last date in the blobs."),
  field("tickers", "text", "Comma-separated; leave empty for all."),
  field("time_zone", "text", "For stamps with times, like Europe/Berlin."),
  field("only_features", "flag", "Leave out the features that the service computes."),
];

/** Most preparations need one option. */
const FOLDS: Folds = { query: { shown: ["learning_end"], label: "Id, dates, tickers and features" } };

function field(name: string, kind: Field["kind"], description: string): Field {
  return {
    path: ["query", name],
    name,
    description,
    isRequired: false,
    kind,
    byDefault: undefined,
    choices: [],
    bounds: {},
  };
}

const ACCEPT = ".csv,.txt,.tsv,.gz,.parquet,text/csv";
const PRICES =
  "CSV or Parquet, with one column per ticker, or one row per date and ticker. A CSV may be gzipped. Choose a file or drop it here.";
const FEATURES =
  "CSV or Parquet, with one row per date and ticker and one column per feature. Each value must be known at the close of its date.";
const CURL_HINT =
  "For any POSIX shell, run in the folder of the files. The same files always give the same blobs.";

/** Prepares both inputs from prices. */
export function PrepareForm({ onPrepared }: { onPrepared(blobs: PreparedBlobs): void }): VNode {
  const { client, baseUrl, hasCredentials, signal: left } = useView();
  const [values, setValues] = useState<ReadonlyMap<string, string>>(new Map());
  const [prices, setPrices] = useState<File>();
  const [features, setFeatures] = useState<File>();
  const [isMissing, setMissing] = useState(false);
  const [faults, setFaults] = useState<readonly PlacedFault[]>([]);
  const [refusal, setRefusal] = useState<string>();
  const [said, say] = useState<VNode>();
  const [sent, setSent] = useState<number>();
  const running = useRef<AbortController>(undefined);
  const inputs = { prices: useRef<HTMLInputElement>(null), features: useRef<HTMLInputElement>(null) };
  const form = useRef<HTMLFormElement>(null);
  const size = (prices?.size ?? 0) + (features?.size ?? 0);
  const paths = PREPARE_FIELDS.map(({ path }) => path);
  const { at, elsewhere } = placeFaults(faults, paths);
  const set = (name: string, value: string) => setValues((all) => new Map(all).set(name, value));
  const state: FormState = {
    valueAt: ([, name]) => values.get(name!) || undefined,
    set: (path, value) => {
      set(path[1]!, String(value ?? ""));
      setFaults(faults.filter((fault) => !mayChange(pathName(path), fault.path)));
    },
    faults: at,
    broken: new Map(),
    setBroken: () => undefined,
  };
  const choosePrices = ([file]: readonly File[]) => {
    setPrices(file);
    setMissing(false);
    // The blobs have the name of the file, unless the reader has given one.
    if (file !== undefined && !values.has("id")) set("id", suggestedName(file.name).id);
  };
  const options = prepareOptions(values);
  const command = curlLine({
    method: "POST",
    url: `${baseUrl}v1/prepare${searchOf({ ...options })}`,
    hasKey: hasCredentials,
    ...(features === undefined
      ? { headers: { "Content-Type": "text/csv" }, body: { file: prices?.name ?? "prices.csv" } }
      : { body: { form: { prices: prices?.name ?? "prices.csv", features: features.name } } }),
  });
  const show = (problem: MucastApiError["problem"]) => {
    const all = faultsIn(problem);
    const placed = all.length - placeFaults(all, paths).elsewhere.length;
    setFaults(all);
    setRefusal(refusalSentence(problem, placed, "next to the fields"));
    setTimeout(() => {
      const line = form.current?.querySelector(".field .fault:not([hidden])");
      if (line == null) return;
      reveal(line);
      line.closest(".field")!.querySelector<HTMLElement>("input, select")!.focus();
    });
  };
  const send = async (file: File) => {
    const stop = new AbortController();
    running.current = stop;
    setFaults([]);
    setRefusal(undefined);
    setSent(0);
    say(html`<p>Uploading ${bytes(size)}…</p>`);
    onBytesSent(file, (count) => {
      setSent(count);
      // The rest takes as long as reading the files does.
      if (count >= size) say(html`<p>Upload complete. The service is preparing the blobs…</p>`);
    });
    const signal = AbortSignal.any([stop.signal, left]);
    try {
      const blobs = await client.prepare(file, { ...options, features, signal });
      say(resultOf(blobs));
      onPrepared(blobs);
    } catch (error) {
      say(stop.signal.aborted ? html`<p>Stopped. Nothing was stored.</p>` : undefined);
      if (signal.aborted) return;
      if (error instanceof MucastApiError) show(error.problem);
      else setRefusal("The service did not respond. Send the files again: they give the same blobs.");
    } finally {
      running.current = undefined;
      setSent(undefined);
    }
  };
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (running.current !== undefined) return;
    if (prices !== undefined) return void send(prices);
    setMissing(true);
    inputs.prices.current!.focus();
  };
  const isSending = sent !== undefined;
  return html`<form class="prepare" novalidate ref=${form} onSubmit=${onSubmit}>
    ${refusalBox(refusal, elsewhere)}
    ${h(DropZone, {
      label: "Prices",
      hint: PRICES,
      accept: ACCEPT,
      input: inputs.prices,
      onFiles: choosePrices,
      said: isMissing ? "Choose a file first." : fileWords(prices),
    })}
    ${h(DropZone, {
      label: "Features of your own (optional)",
      hint: FEATURES,
      accept: ACCEPT,
      input: inputs.features,
      onFiles: ([file]) => setFeatures(file),
      said: fileWords(features),
    })}
    ${h(VisibleForm.Provider, { value: state, children: h(Fields, { parts: PREPARE_FIELDS, folds: FOLDS, path: ["query"] }) })}
    ${h(Command, { summary: "Show the upload as curl", hint: CURL_HINT, text: command })}
    ${isSending && html`<progress max=${Math.max(1, size)} value=${sent} aria-label="Bytes sent" />`}
    <p class="actions"><button type="submit" class="main">Prepare</button>
      ${isSending && html`<button type="button" onClick=${() => running.current?.abort()}>Stop</button>`}</p>
    <div role="status">${said}</div>
  </form>`;
}

function fileWords(file: File | undefined): VNode | undefined {
  return file && html`${bdi(file.name, 80)} (${bytes(file.size)})`;
}

function resultOf(blobs: PreparedBlobs): VNode {
  const { warnings, warning_count } = blobs;
  const more = warning_count - Math.min(warnings.length, MAX_WARNINGS);
  return html`<p>${preparedSentences(blobs).join(" ")}</p>
    ${warnings.length > 0 && html`<ul class="warnings">${warnings.slice(0, MAX_WARNINGS).map((warning) => html`<li>${bdi(warning, 500)}</li>`)}</ul>`}
    ${more > 0 && html`<p>and ${more} more warnings</p>`}`;
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
    `${countedRows(ticker_count, "ticker")}, ${countedRows(dates, "date")} from ${start} to ${end}, ${countedRows(features.length, "feature")} each.`,
    learning_end === null
      ? "Without a training cut-off, a job learns from all dates."
      : `A job learns from returns up to ${learning_end}.`,
    written ? "Both blobs are stored." : "Both blobs were already stored, with the same bytes.",
  ];
}
