import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import type { OperationView } from "../../client/index.ts";
import { countedRows } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { type Fact, facts } from "../../view/panel.ts";
import { bdi, code, duration, moment } from "../../view/text.ts";
import { Command } from "../forms/command.ts";
import { treeText, valueAt } from "../forms/draft.ts";
import { labelOf } from "../forms/labels.ts";
import { BLOBS, isChanged, type RunConfig, readRunConfig, settingNames } from "../forms/settings.ts";
import { againLink, Download, ReportLinkOf } from "../links.ts";
import { dataName } from "../list/run-columns.ts";
import { errorBox, Loaded, problemBox, useView, type ViewContext } from "../view.ts";
import { kindOf, runName, statusBadge } from "../words.ts";
import { CheckVerdict } from "./check-verdict.ts";
import { useRun } from "./follow-run.ts";
import { Forecast } from "./forecast.ts";
import { Progress } from "./progress.ts";
import { Training } from "./training.ts";

/** The page of an operation: what it found and what to do, or how far it is; then the evidence, and what it was submitted with. */
export function RunView(): VNode {
  const { client, params, signal } = useView();
  return h(Loaded<OperationView>, {
    read: () => client.getOperation(params.get("id")!, { signal }),
    show: (operation) => h(Run, { operation }),
  });
}

function Run({ operation: first }: { readonly operation: OperationView }): VNode {
  const context = useView();
  const { run, error, isFollowed, follow } = useRun(first);
  const { operation, happenings } = run;
  const { result, failures = [], failure_counts = {}, warnings, warning_counts = {} } = operation;
  const name = runName(operation);
  useEffect(() => context.setTitle(name), [name]);
  const history = html`<ol class="happenings">${happenings.map(({ time, words }) => html`<li>${moment(time)} ${words}</li>`)}</ol>`;
  const earlier = html`<p class="earlier"><button type="button" onClick=${follow}>Show history</button>${" "}
    <span class="hint">Loads the stored events: history and training curves.</span></p>`;
  const output = isJob(operation) ? "output for the portfolio optimizer" : "verdict";
  return html`<div>
    ${error !== undefined && errorBox(error)}
    ${summaryOf(operation)}
    ${operation.finished_at === null && h(Progress, { run })}
    ${operation.error !== null && failureOf(operation, context)}
    ${result !== null && actionsOf(operation, context)}
    ${result !== null && h(isJob(operation) ? Forecast : CheckVerdict, { operation })}
    ${h(Training, { run })}
    ${h(ConfigSection, { operation: first })}
    ${codesSection("Tickers without a forecast", codeGroups(failures, failure_counts, "ticker"))}
    ${codesSection("Warnings", codeGroups(warnings, warning_counts, "warning"))}
    <section>
      <h2>History</h2>
      ${isFollowed ? history : earlier}
      <p class="hint">${kindOf(operation.operation)} ${code(operation.id)}
        ${result !== null && html`; ${output}: ${code(result.output_url)}`}</p>
    </section>
  </div>`;
}

function isJob({ operation }: OperationView): boolean {
  return operation !== "audit" && operation !== "replay";
}

/** Why an operation failed, and the form in which to change that. */
function failureOf(operation: OperationView, { mayWrite }: ViewContext): VNode {
  const problem = operation.error!;
  return html`<section>
    <h2>${operation.status === "Canceled" ? "Operation canceled" : "Why it failed"}</h2>
    ${problemBox(problem)}
    ${codeGroups(problem.failures ?? [], problem.failure_counts ?? {}, "ticker")}
    ${
      mayWrite &&
      html`<p class="again">${againLink(operation)}${" "}
      <span class="hint">Opens the form with this payload. Change its config or inputs before you submit it.</span></p>`
    }
  </section>`;
}

/** What to do with the result of an operation. */
function actionsOf(operation: OperationView, { mayWrite }: ViewContext): VNode {
  const { id } = operation;
  const name = operation.result!.output_name;
  if (!isJob(operation))
    return html`<p class="buttons">${h(Download, { name, words: "Download verdict" })}${mayWrite && againLink(operation)}</p>`;
  const checks = html`<a class="button" href=${`#/replay?operation=${id}`}>Replay</a>
    <a class="button" href=${`#/audit?operation=${id}`}>Audit inputs</a>`;
  return html`<p class="buttons">
    ${h(ReportLinkOf, { id })}${h(Download, { name, words: "Download output" })}${mayWrite && [againLink(operation), checks]}
  </p>`;
}

/** Status, data, tags and times of an operation. */
function summaryOf(operation: OperationView): VNode {
  const { status, created_at, started_at, finished_at, tags = [] } = operation;
  const data = dataName(operation);
  const end = finished_at === null ? Date.now() : Date.parse(finished_at);
  return html`<section aria-label="Summary">${facts([
    ["Status", statusBadge(status)],
    data !== "" && ["Data", bdi(data)],
    tags.length > 0 && ["Tags", bdi(tags.join(", "))],
    ["Submitted", moment(created_at)],
    // Not a live region: a screen reader reads the current time when asked.
    started_at !== null && [
      finished_at === null ? "Running for" : "Duration",
      duration(end - Date.parse(started_at)),
    ],
  ])}</section>`;
}

function codesSection(title: string, groups: readonly VNode[]): VNode | undefined {
  return groups.length === 0 ? undefined : html`<section><h2>${title}</h2>${groups}</section>`;
}

/** The number of entries per code, and the first ones in full. */
function codeGroups(
  entries: readonly { readonly code: string; readonly message: string }[],
  counts: Readonly<Record<string, number>>,
  noun: string,
): readonly VNode[] {
  const listed = Map.groupBy(entries, (entry) => entry.code);
  const codes = [...new Set([...Object.keys(counts), ...listed.keys()])];
  return codes.map((name) => {
    const all = listed.get(name) ?? [];
    const count = Object.hasOwn(counts, name) ? counts[name]! : all.length;
    const more = count - all.length;
    return html`<details class="codes" open=${codes.length === 1 && count <= 3}>
      <summary>${code(name)} ${countedRows(count, noun)}</summary>
      <ul>
        ${all.map(({ message }) => html`<li>${bdi(message, 500)}</li>`)}
        ${more > 0 && html`<li class="hint">and ${countedRows(more, noun)} more; the output lists them all</li>`}
      </ul>
    </details>`;
  });
}

const MAX_VALUE = 300;

/** What an operation was submitted with: its inputs, the settings that differ from their defaults, and the JSON. */
function ConfigSection({ operation }: { readonly operation: OperationView }): VNode {
  const context = useView();
  return h(Loaded<RunConfig | undefined>, {
    read: () => readRunConfig(operation, context),
    show: (config) =>
      html`${config && html`<section><h2>Inputs and config</h2>${contentsOf(config, context)}</section>`}`,
  });
}

function contentsOf({ settings, payload }: RunConfig, { baseUrl }: ViewContext): VNode {
  const changed = settings.filter((each) => isChanged(each) && !BLOBS.includes(String(each.path[0])));
  const inputs = BLOBS.map((member): Fact | false => {
    const url = valueAt(payload, [member]);
    if (typeof url !== "string") return false;
    const name = url.startsWith(`${baseUrl}data/`) ? url.slice(`${baseUrl}data/`.length) : "";
    const isOwn = /^[A-Za-z0-9_.-]{1,100}$/.test(name);
    return [labelOf(member)!, isOwn ? h(Download, { name, words: name, kind: "plain" }) : code(url)];
  });
  return html`${facts(inputs)}
    ${
      changed.length === 0
        ? html`<p class="hint">Every setting has its default.</p>`
        : html`<h3>Settings other than the defaults</h3>
        <dl class="settings">${changed.map(
          (setting) => html`<div>
            <dt>${settingNames(setting)}</dt>
            <dd>${bdi(setting.value, MAX_VALUE)}${setting.byDefault !== undefined && html`<span class="hint"> default ${bdi(setting.byDefault, 60)}</span>`}</dd>
          </div>`,
        )}</dl>`
    }
    ${h(Command, {
      summary: "Show the payload as JSON",
      hint: "Without the queries of URLs and the sections of other services, which are not stored.",
      text: treeText(payload),
    })}`;
}
