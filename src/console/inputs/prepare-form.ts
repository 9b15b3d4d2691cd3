import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { searchOf } from "../../client/connection.ts";
import { MucastApiError, type PreparedBlobs, type PrepareOptions, type Problem } from "../../client/index.ts";
import { curlLine } from "../../contract/curl-line.ts";
import type { RawJson } from "../../contract/json/json-text.ts";
import { countedRows } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { bdi, bytes } from "../../view/text.ts";
import { Command } from "../forms/command.ts";
import { pathName, useRefusal } from "../forms/faults.ts";
import { Fields, type FormState, VisibleForm } from "../forms/field.ts";
import { valueAt, withValue } from "../forms/payload-tree.ts";
import { type FormPart, formParts } from "../forms/schema-fields.ts";
import { useView } from "../view.ts";
import { suggestedName } from "./blob-name.ts";
import { DropZone } from "./drop-zone.ts";
import { onBytesSent } from "./upload-fetch.ts";

/** Maximum number of warnings listed per file. */
const MAX_WARNINGS = 20;

const ACCEPT = ".csv,.txt,.tsv,.gz,.parquet,text/csv";
const PRICES =
  "CSV or Parquet, with one column per ticker, or one row per date and ticker. A CSV may be gzipped. Choose a file or drop it here.";
const FEATURES =
  "CSV or Parquet, with one row per date and ticker and one column per feature. Each value must be known at the close of its date.";
const CURL_HINT =
  "For any POSIX shell, run in the folder of the files. The same files always give the same blobs.";
/** Most preparations need one option. */
const FOLDS = { "": { shown: ["learning_end"], label: "Name, dates, tickers and formats" } };

interface PrepareFormProps {
  /** The JSON Schema of the options. */
  readonly schema: object;
  onPrepared(blobs: PreparedBlobs): void;
}

/** Prepares both inputs from prices. */
export function PrepareForm({ schema, onPrepared }: PrepareFormProps): VNode {
  const { client, baseUrl, hasCredentials, signal: left } = useView();
  const [tree, setTree] = useState<RawJson>({});
  const [prices, setPrices] = useState<File>();
  const [features, setFeatures] = useState<File>();
  const [isMissing, setMissing] = useState(false);
  const [said, say] = useState<VNode>();
  const [sent, setSent] = useState<number>();
  const running = useRef<AbortController>(undefined);
  const inputs = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)] as const;
  const form = useRef<HTMLFormElement>(null);
  const size = (prices?.size ?? 0) + (features?.size ?? 0);
  const parts: readonly FormPart[] = formParts(schema);
  const refusal = useRefusal(
    form,
    parts.map(({ path }) => path),
    "next to the fields",
  );
  const state: FormState = {
    valueAt: (path) => valueAt(tree, path),
    set: (path, value) => {
      setTree(withValue(tree, path, value));
      refusal.settle(pathName(path));
    },
    faults: refusal.at,
    broken: new Map(),
    setBroken: () => undefined,
  };
  const choosePrices = ([file]: readonly File[]) => {
    setPrices(file);
    setMissing(false);
    // The blobs have the name of the file, unless the reader gives them one.
    if (file !== undefined && valueAt(tree, ["id"]) === undefined)
      setTree(withValue(tree, ["id"], suggestedName(file.name).id));
  };
  const options = tree as Omit<PrepareOptions, "signal" | "features">;
  const csv = prices?.name ?? "prices.csv";
  const command = curlLine({
    method: "POST",
    url: `${baseUrl}v1/prepare${searchOf({ ...options })}`,
    hasKey: hasCredentials,
    ...(features === undefined
      ? { headers: { "Content-Type": "text/csv" }, body: { file: csv } }
      : { body: { form: { prices: csv, features: features.name } } }),
  });
  const send = async (file: File) => {
    const stop = new AbortController();
    running.current = stop;
    refusal.clear();
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
      if (error instanceof MucastApiError) refusal.explain(withoutQuery(error.problem));
      else refusal.say("The service did not respond. Send the files again: they give the same blobs.");
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
    inputs[0].current!.focus();
  };
  const named = (file: File | undefined) => file && html`${bdi(file.name, 80)} (${bytes(file.size)})`;
  const stop = html`<button type="button" onClick=${() => running.current?.abort()}>Stop</button>`;
  return html`<form class="prepare" novalidate ref=${form} onSubmit=${onSubmit}>
    ${refusal.box}
    ${h(DropZone, {
      ...{ label: "Prices", hint: PRICES, accept: ACCEPT, input: inputs[0], onFiles: choosePrices },
      said: isMissing ? "Choose a file first." : named(prices),
    })}
    ${h(DropZone, {
      ...{ label: "Features of your own (optional)", hint: FEATURES, accept: ACCEPT, input: inputs[1] },
      onFiles: ([file]) => setFeatures(file),
      said: named(features),
    })}
    ${h(VisibleForm.Provider, { value: state, children: h(Fields, { parts, folds: FOLDS }) })}
    ${h(Command, { summary: "Show the upload as curl", hint: CURL_HINT, text: command })}
    ${sent !== undefined && html`<progress max=${Math.max(1, size)} value=${sent} aria-label="Bytes sent" />`}
    <p class="actions"><button type="submit" class="main">Prepare</button>${sent !== undefined && stop}</p>
    <div role="status">${said}</div>
  </form>`;
}

/** The service names an option as a member of the query. */
function withoutQuery(problem: Problem): Problem {
  return {
    ...problem,
    faults: (problem.faults ?? []).map((fault) => ({ ...fault, path: fault.path.replace(/^query\./, "") })),
  };
}

function resultOf(prepared: PreparedBlobs): VNode {
  const { ticker_count, dates, start, end, learning_end, features, written, warnings, warning_count } =
    prepared;
  const listed = warnings.slice(0, MAX_WARNINGS).map((warning) => html`<li>${bdi(warning, 500)}</li>`);
  const more = warning_count - listed.length;
  return html`<p>${countedRows(ticker_count, "ticker")}, ${countedRows(dates, "date")} from ${start} to ${end},
      ${" "}${countedRows(features.length, "feature")} each.
      ${" "}${learning_end === null ? "Without a training cut-off, a job learns from all dates." : `A job learns from returns up to ${learning_end}.`}
      ${" "}${written ? "Both blobs are stored." : "Both blobs were already stored, with the same bytes."}</p>
    ${listed.length > 0 && html`<ul class="warnings">${listed}</ul>`}
    ${more > 0 && html`<p>and ${more} more warnings</p>`}`;
}
