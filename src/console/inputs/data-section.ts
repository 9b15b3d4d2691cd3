import type { VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { MucastApiError, type StoredBlobView } from "../../client/index.ts";
import { countedRows, figure } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { bdi, bytes, code, moment } from "../../view/text.ts";
import type { RawJson } from "../forms/draft.ts";
import { faultLine, reveal } from "../forms/faults.ts";
import { type Forms, fetchForms } from "../forms/schema.ts";
import { errorWords, Loaded, useAction, useView, type ViewContext } from "../view.ts";
import { PrepareForm } from "./prepare-form.ts";
import { inputName, UploadList } from "./uploads.ts";

/** The payload members that name the inputs, and the URLs of inputs by them. */
export const INPUT_URLS = ["feature_url", "data_extractor_url"] as const;
export type ReadyInputs = Readonly<Partial<Record<(typeof INPUT_URLS)[number], string>>>;

/** Sets that the reader sees without unfolding the older ones. */
const MAX_SHOWN = 5;
/** Blobs of each kind that are listed, as many as a page of the service has. */
const MAX_LISTED = 100;

interface DataSectionProps {
  readonly forms: Forms;
  /** How often the reader has submitted without having chosen data. */
  readonly misses: number;
  /** The URLs of the form, of the features and of the prices. */
  readonly urls: readonly (RawJson | undefined)[];
  /** Whether the form takes no inputs, because its JSON has an error. */
  readonly isLocked: boolean;
  /** Called with the set that the reader chooses, and with inputs that the reader has added. */
  onChosen(inputs: ReadyInputs): void;
}

/** The choice of a job's inputs: the stored sets, newest first, and the ways to add one. */
export function DataSection({ forms, misses, urls, isLocked, onChosen }: DataSectionProps): VNode {
  const context = useView();
  const { client, signal } = context;
  const id = useId();
  const place = useRef<HTMLFieldSetElement>(null);
  const [sets, setSets] = useState<readonly StoredSet[]>();
  const [fault, setFault] = useState<string>();
  const read = async () => {
    const list = async (kind: "features" | "prices") =>
      (await client.listBlobs({ kind, limit: MAX_LISTED, signal })).blobs;
    const failed = (error: unknown) => setFault(`Stored inputs could not be listed. ${errorWords(error)}`);
    await Promise.all([list("features"), list("prices")]).then(([features, prices]) => {
      setSets(setsOf(features, prices));
      setFault(undefined);
    }, failed);
  };
  const onStored = (inputs: ReadyInputs) => {
    onChosen(inputs);
    void read();
  };
  const example = useAction("The example data could not be stored.", async () =>
    onStored(await storeExample(context)),
  );
  const isChosen = ({ features, prices }: StoredSet) => features.url === urls[0] && prices.url === urls[1];
  const chosen = sets?.find(isChosen)?.id;
  useEffect(() => void read(), []);
  useEffect(() => {
    const radio = place.current!.querySelector("input:checked");
    if (radio !== null) reveal(radio);
  }, [chosen]);
  useEffect(() => {
    if (misses > 0) place.current!.querySelector<HTMLElement>(".fault")!.focus();
  }, [misses]);
  const choose = ({ features, prices }: StoredSet) =>
    onChosen({ feature_url: features.url, data_extractor_url: prices.url });
  const item = (set: StoredSet) => html`<label class="check set" key=${set.features.name}>
    <input type="radio" name=${`${id}-set`} value=${set.id} checked=${isChosen(set)} disabled=${isLocked} onChange=${() => choose(set)} />
    <span>${bdi(set.id)}<span class="hint">${contentsWords(set)}. Stored ${moment(storedAt(set))}.</span></span>
  </label>`;
  const [shown, older] = [sets?.slice(0, MAX_SHOWN) ?? [], sets?.slice(MAX_SHOWN) ?? []];
  const others = urls.filter((url) => typeof url === "string");
  return html`<fieldset class="group data" ref=${place}><legend>Data</legend>
    ${faultLine(misses > 0 && others.length === 0 ? ["Choose data first."] : [])}
    ${fault !== undefined && html`<p class="hint">${fault}</p>`}
    ${isLocked && html`<p class="hint">The JSON has an error. Fix it, then choose the data.</p>`}
    ${
      sets?.length === 0 &&
      html`<p class="beside"><span class="hint">No inputs are stored yet.</span>
        <button type="button" disabled=${example.isBusy} onClick=${example.run}>Use the example data</button></p>`
    }
    <div>${shown.map(item)}
      ${older.length > 0 && html`<details><summary>${countedRows(older.length, "older set")}</summary>${older.map(item)}</details>`}
    </div>
    ${chosen === undefined && others.length > 0 && html`<p class="hint">The form has ${others.map((url) => html`${code(url)} `)}</p>`}
    <details class="inputs" open=${sets?.length === 0}>
      <summary>Add data: a file of prices, or input blobs</summary>
      ${h(Inputs, { forms, onStored })}
    </details>
  </fieldset>`;
}

interface InputsProps {
  readonly forms: Forms;
  onStored(inputs: ReadyInputs): void;
}

/** The ways to get inputs into the service. */
export function Inputs({ forms, onStored }: InputsProps): VNode {
  return html`<div class="ways">
    <section><h2>Prepare input blobs from prices</h2>${h(PrepareForm, {
      schema: forms.prepare,
      onPrepared: ({ feature_url, data_extractor_url }) => onStored({ feature_url, data_extractor_url }),
    })}</section>
    <section class="upload-blobs"><h2>Upload input blobs</h2>${h(UploadList, { onStored })}</section>
  </div>`;
}

/** Both stored inputs of a job with the same id. */
interface StoredSet {
  readonly id: string;
  readonly features: StoredBlobView;
  readonly prices: StoredBlobView;
}

/** Pairs feature and price blobs by their id, of the same format if there is one. @returns the newest set first. */
export function setsOf(
  features: readonly StoredBlobView[],
  prices: readonly StoredBlobView[],
): readonly StoredSet[] {
  const sets = features.flatMap((blob): StoredSet[] => {
    const name = inputName(blob.name);
    const partners = prices.filter((other) => inputName(other.name)?.id === name?.id);
    const partner = partners.find((other) => inputName(other.name)?.format === name?.format) ?? partners[0];
    return name === undefined || partner === undefined
      ? []
      : [{ id: name.id, features: blob, prices: partner }];
  });
  return sets.toSorted((a, b) => storedAt(b).localeCompare(storedAt(a)));
}

/** When the later blob of a set was stored; ISO 8601. */
function storedAt({ features, prices }: StoredSet): string {
  return [features.created_at, prices.created_at].toSorted()[1]!;
}

/** What is known of both blobs: tickers and span if the service has prepared them, otherwise the size. */
function contentsWords({ features, prices }: StoredSet): string {
  const { ticker_count, dates, start, end } = { ...prices, ...features };
  const span = start === undefined || end === undefined ? "" : `${start} to ${end}`;
  const known = [
    ticker_count === undefined ? "" : countedRows(ticker_count, "ticker"),
    dates === undefined ? span : `${span} (${figure(dates, "count")} dates)`,
    features.size === null || prices.size === null ? "" : bytes(features.size + prices.size),
  ];
  return known.filter((words) => words !== "").join(", ");
}

/** Uploads inputs, or prepares them, and links to the job that uses them. */
export function UploadForm(): VNode {
  const [inputs, setInputs] = useState<ReadyInputs>();
  const onStored = (more: ReadyInputs) => setInputs((before) => ({ ...before, ...more }));
  return html`${h(Loaded<Forms>, { read: fetchForms, show: (forms) => h(Inputs, { forms, onStored }) })}
    <p role="status">${inputs && html`<a href=${`#/job?${new URLSearchParams({ ...inputs })}`}>Submit a job with these inputs</a>`}</p>`;
}

/** 30 tickers, three years, which every service serves below `/examples/`. */
const FEATURES = "feature_engine_sp500.parquet";
const PRICES = "data_extractor_sp500.parquet";

/** Stores the example data as the caller's blobs, unless the caller has blobs of these names. */
export async function storeExample(context: ViewContext): Promise<Required<ReadyInputs>> {
  const [feature_url, data_extractor_url] = await Promise.all([
    storeOne(context, FEATURES),
    storeOne(context, PRICES),
  ]);
  return { feature_url, data_extractor_url };
}

async function storeOne({ client, baseUrl, signal }: ViewContext, name: string): Promise<string> {
  const answer = await fetch(`${baseUrl}examples/${name}`, { signal });
  if (!answer.ok) throw new TypeError(`${name} answered ${answer.status}`);
  try {
    return (await client.putBlob(name, await answer.arrayBuffer(), { isNew: true, signal })).url;
  } catch (error) {
    if (!(error instanceof MucastApiError && error.code === "precondition_failed")) throw error;
    for await (const blob of client.allBlobs({ limit: 100, signal })) if (blob.name === name) return blob.url;
    throw error;
  }
}
