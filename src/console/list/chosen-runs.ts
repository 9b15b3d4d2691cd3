import type { VNode } from "preact";
import type { OperationView } from "../../client/index.ts";
import { MAX_COMPARED_OUTPUTS } from "../../contract/config/limits.ts";
import { countedRows } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { table } from "../../view/table.ts";
import { bdi } from "../../view/text.ts";
import {
  type Difference,
  differencesOf,
  type RunConfig,
  readRunConfig,
  settingNames,
} from "../forms/settings.ts";
import { openReport } from "../links.ts";
import { Loaded, useAction, useView } from "../view.ts";
import { runName } from "../words.ts";

const MIN_COMPARED = 2;
const MAX_VALUE = 200;

interface ChosenRunsProps {
  /** In the order of their choice, which is that of the report's columns. A run stays chosen if a filter hides it. */
  readonly chosen: readonly OperationView[];
  onClear(): void;
}

/** The runs that the reader has chosen to compare: the button that opens their report, and how their settings differ. */
export function ChosenRuns({ chosen, onClear }: ChosenRunsProps): VNode {
  const context = useView();
  const { isBusy, run } = useAction("Could not open the report.", () => {
    const ids = chosen.map(({ id }) => id);
    return openReport(context.client.createComparisonLink(ids, { signal: context.signal }), context);
  });
  const count = chosen.length;
  const words =
    count === 0
      ? `Choose ${MIN_COMPARED} to ${MAX_COMPARED_OUTPUTS} jobs that succeeded, on the same prices.`
      : `${countedRows(count, "run")} chosen${count === MAX_COMPARED_OUTPUTS ? ", the most that a report compares" : ""}`;
  return html`<div>
    <p class="chosen buttons">
      <button type="button" disabled=${isBusy || count < MIN_COMPARED} onClick=${run}>Compare in a report</button>
      <span role="status">${words}</span>
      <button type="button" class="plain" hidden=${count === 0} onClick=${onClear}>Clear</button>
    </p>
    <details class="differences" hidden=${count < MIN_COMPARED}>
      <summary>Show how their settings differ</summary>
      <div role="status">${
        count >= MIN_COMPARED &&
        h(Loaded<readonly (RunConfig | undefined)[]>, {
          key: chosen.map(({ id }) => id).join(),
          read: () => Promise.all(chosen.map((each) => readRunConfig(each, context))),
          show: (configs) => comparison(chosen, configs),
        })
      }</div>
    </details>
  </div>`;
}

function comparison(chosen: readonly OperationView[], configs: readonly (RunConfig | undefined)[]): VNode {
  const names = chosen.map(runName);
  const differences = differencesOf(configs.map((config) => config?.settings));
  const titleOf = ({ id }: OperationView, i: number) =>
    names.indexOf(names[i]!) === names.lastIndexOf(names[i]!) ? names[i]! : `${names[i]} ${id.slice(0, 8)}`;
  if (differences.length === 0) return html`<p>No input and no setting differs.</p>`;
  return table<Difference>({
    name: "Inputs and settings in which the chosen runs differ",
    columns: [
      { title: "Setting", cell: settingNames },
      ...chosen.map((run, i) => ({
        title: titleOf(run, i),
        cell: (difference: Difference) =>
          configs[i] === undefined ? html`<span class="hint">not stored</span>` : valueCell(difference, i),
      })),
    ],
    rows: differences,
  });
}

function valueCell({ values }: Difference, i: number): VNode | string {
  const setting = values[i];
  if (setting !== undefined) return bdi(setting.value, MAX_VALUE);
  const byDefault = values.find((value) => value?.byDefault !== undefined)?.byDefault;
  return byDefault === undefined
    ? "–"
    : html`${bdi(byDefault, MAX_VALUE)}<span class="hint"> (default)</span>`;
}
