import type { VNode } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { FormSchemas } from "../../contract/api/published-schemas.ts";
import type { RawJson } from "../../contract/json/json-text.ts";
import { countedRows, figure } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { bdi, bytes, moment } from "../../view/text.ts";
import { faultLine, reveal } from "../forms/faults.ts";
import { useAction, useView } from "../view.ts";
import { storeExample } from "./example-data.ts";
import { type StoredInputs, type StoredSet, setsOf, storedAt } from "./stored-inputs.ts";
import { Inputs, type ReadyInputs } from "./upload-form.ts";

/** Sets that the reader sees without unfolding the older ones. */
const MAX_SHOWN = 5;

interface DataSectionProps {
  readonly schemas: FormSchemas;
  readonly stored: StoredInputs;
  /** How often the reader has submitted without having chosen data. */
  readonly asked: number;
  /** The URLs of the form, of the features and of the prices. */
  readonly urls: readonly (RawJson | undefined)[];
  /** Called with the set that the reader chooses. @returns whether the form took it. */
  onChosen(inputs: ReadyInputs): boolean;
  /** Called with inputs that the reader has added. */
  onStored(inputs: ReadyInputs): void;
}

/** The choice of a job's inputs: the stored sets, newest first, and the ways to add one. */
export function DataSection({ schemas, stored, asked, urls, onChosen, onStored }: DataSectionProps): VNode {
  const context = useView();
  const id = useId();
  const place = useRef<HTMLFieldSetElement>(null);
  /** Draws the radio buttons anew, without the set that the form did not take. */
  const [refused, setRefused] = useState(0);
  const example = useAction("The example data could not be stored.", async () =>
    onStored(await storeExample(context)),
  );
  const isMissing = asked > 0 && urls.every((url) => url === undefined);
  const sets = setsOf(stored);
  const isChosen = ({ features, prices }: StoredSet) => features.url === urls[0] && prices.url === urls[1];
  const chosen = sets.find(isChosen)?.id;
  useEffect(() => {
    const radio = place.current!.querySelector("input:checked");
    if (radio !== null) reveal(radio);
  }, [chosen]);
  useEffect(() => {
    if (asked > 0) place.current!.querySelector<HTMLElement>(".fault")!.focus();
  }, [asked]);
  const choose = ({ features, prices }: StoredSet) => {
    if (!onChosen({ feature_url: features.url, data_extractor_url: prices.url })) setRefused(refused + 1);
  };
  const item = (set: StoredSet) => html`<label class="check set" key=${`${refused} ${set.features.name}`}>
    <input type="radio" name=${`${id}-set`} value=${set.id} checked=${isChosen(set)} onChange=${() => choose(set)} />
    <span>${bdi(set.id)}<span class="hint">${contentsWords(set)}. Stored ${moment(storedAt(set))}.</span></span>
  </label>`;
  return html`<fieldset class="group data" ref=${place}><legend>Data</legend>
    ${faultLine(isMissing ? ["Choose data first."] : [])}
    ${
      stored.fault !== undefined
        ? html`<p class="hint">${stored.fault}</p>`
        : sets.length === 0 &&
          html`<p class="beside"><span class="hint">No inputs are stored yet.</span>
          <button type="button" disabled=${example.isBusy} onClick=${example.run}>Use the example data</button></p>`
    }
    <div>${sets.slice(0, MAX_SHOWN).map(item)}
      ${
        sets.length > MAX_SHOWN &&
        html`<details><summary>${countedRows(sets.length - MAX_SHOWN, "older set")}</summary>
        ${sets.slice(MAX_SHOWN).map(item)}</details>`
      }
    </div>
    <details class="inputs" open=${sets.length === 0}>
      <summary>Add data: a file of prices, or input blobs</summary>
      ${h(Inputs, { schemas, onReady: onStored })}
    </details>
  </fieldset>`;
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

export type { ReadyInputs };
