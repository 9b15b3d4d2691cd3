import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { MucastApiError, type PreparedBlobs, type PrepareOptions } from "../../client/index.ts";
import { countedRows } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { bdi, bytes } from "../../view/text.ts";
import { type RawJson, treeWith, valueAt } from "../forms/draft.ts";
import { useRefusal } from "../forms/faults.ts";
import { Fields, type FormState, VisibleForm } from "../forms/fields.ts";
import { type JsonSchema, membersOf } from "../forms/schema.ts";
import { useView } from "../view.ts";
import { FileField, onBytesSent, suggestedId } from "./uploads.ts";

const ACCEPT = ".csv,.txt,.tsv,.gz,.parquet,text/csv";
const PRICES =
  "CSV or Parquet, with one column per ticker, or one row per date and ticker. A CSV may be gzipped. Choose a file or drop it on the field.";
const FEATURES =
  "CSV or Parquet, with one row per date and ticker and one column per feature. Each value must be known at the close of its date.";
const NO_RESPONSE = "The service did not respond. Send the files again: they give the same blobs.";
/** Most preparations need one option. */
const FOLDS = { "": { shown: ["learning_end"], label: "Name, dates, tickers and formats" } };

interface PrepareFormProps {
  /** Of the options. */
  readonly schema: JsonSchema;
  onPrepared(blobs: PreparedBlobs): void;
}

/** Prepares both inputs from prices. */
export function PrepareForm({ schema, onPrepared }: PrepareFormProps): VNode {
  const { client, signal: left } = useView();
  const [tree, setTree] = useState<RawJson>({});
  const [prices, setPrices] = useState<File>();
  const [features, setFeatures] = useState<File>();
  const [isMissing, setMissing] = useState(false);
  const [said, say] = useState<VNode>();
  const [sending, setSending] = useState<{ readonly sent: number; readonly stop: AbortController }>();
  const [pricesInput, featuresInput] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)];
  const size = (prices?.size ?? 0) + (features?.size ?? 0);
  const members = membersOf(schema);
  const { refusal, box, refuse, explain, clear } = useRefusal(tree, members, "next to the fields");
  const state: FormState = {
    schema,
    tree,
    set: (path, value) => setTree(treeWith(tree, path, value)),
    refusal,
    folds: FOLDS,
  };
  const choosePrices = ([file]: readonly File[]) => {
    setPrices(file);
    setMissing(false);
    // The blobs have the name of the file, unless the reader gives them one.
    const [id, before] = [valueAt(tree, ["id"]), prices && suggestedId(prices.name)];
    if (id === undefined || id === before) setTree(treeWith(tree, ["id"], file && suggestedId(file.name)));
  };
  const options = tree as Omit<PrepareOptions, "signal" | "features">;
  const send = async (file: File) => {
    const stop = new AbortController();
    clear();
    setSending({ sent: 0, stop });
    say(html`<p>Uploading ${bytes(size)}…</p>`);
    onBytesSent(file, (sent) => {
      setSending({ sent, stop });
      // The rest takes as long as reading the files does.
      if (sent >= size) say(html`<p>Upload complete. The service is preparing the blobs…</p>`);
    });
    const signal = AbortSignal.any([stop.signal, left]);
    try {
      const blobs = await client.prepare(file, { ...options, features, signal });
      say(resultOf(blobs));
      onPrepared(blobs);
    } catch (error) {
      say(stop.signal.aborted ? html`<p>Stopped. Nothing was stored.</p>` : undefined);
      if (signal.aborted) return;
      if (!(error instanceof MucastApiError)) return refuse(NO_RESPONSE);
      // The service names an option as a member of the query.
      const unquery = ({ path, ...fault }: { path: string; message: string }) => ({
        ...fault,
        path: path.replace(/^query\./, ""),
      });
      explain({ ...error.problem, faults: (error.problem.faults ?? []).map(unquery) });
    } finally {
      setSending(undefined);
    }
  };
  const onSubmit = (event: Event) => {
    event.preventDefault();
    if (sending !== undefined) return;
    if (prices !== undefined) return void send(prices);
    setMissing(true);
    pricesInput.current!.focus();
  };
  const named = (file: File | undefined) => file && html`${bdi(file.name, 80)} (${bytes(file.size)})`;
  return html`<form class="prepare" novalidate onSubmit=${onSubmit}>
    ${box}
    ${h(FileField, {
      ...{ label: "Prices", hint: PRICES, accept: ACCEPT, input: pricesInput, onFiles: choosePrices },
      said: isMissing ? "Choose a file first." : named(prices),
    })}
    ${h(FileField, {
      ...{ label: "Features of your own (optional)", hint: FEATURES, accept: ACCEPT, input: featuresInput },
      onFiles: ([file]) => setFeatures(file),
      said: named(features),
    })}
    ${h(VisibleForm.Provider, { value: state, children: h(Fields, { members }) })}
    ${sending && html`<progress max=${Math.max(1, size)} value=${sending.sent} aria-label="Bytes sent" />`}
    <p class="actions"><button type="submit" class="main">Prepare</button>
      ${sending && html`<button type="button" onClick=${() => sending.stop.abort()}>Stop</button>`}</p>
    <div role="status">${said}</div>
  </form>`;
}

function resultOf(prepared: PreparedBlobs): VNode {
  const { ticker_count, dates, start, end, learning_end, features, written, warnings, warning_count } =
    prepared;
  const more = warning_count - warnings.length;
  return html`<p>${countedRows(ticker_count, "ticker")}, ${countedRows(dates, "date")} from ${start} to ${end},
      ${" "}${countedRows(features.length, "feature")} each.
      ${" "}${learning_end === null ? "Without a training cut-off, a job learns from all dates." : `A job learns from returns up to ${learning_end}.`}
      ${" "}${written ? "Both blobs are stored." : "Both blobs were already stored, with the same bytes."}</p>
    ${warnings.length > 0 && html`<ul class="warnings">${warnings.map((warning) => html`<li>${bdi(warning, 500)}</li>`)}</ul>`}
    ${more > 0 && html`<p>and ${more} more warnings</p>`}`;
}
