import type { VNode } from "preact";
import type { OperationView } from "../../client/index.ts";
import { h, html } from "../../view/html.ts";
import { type Fact, facts } from "../../view/panel.ts";
import { bdi, code } from "../../view/text.ts";
import { Command } from "../forms/command.ts";
import { labelOf } from "../forms/labels.ts";
import { treeText, valueAt } from "../forms/payload-tree.ts";
import {
  isChanged,
  type RunConfig,
  readRunConfig,
  type Setting,
  settingLabel,
  settingName,
} from "../forms/settings.ts";
import { Download } from "../links.ts";
import { Loaded, useView, type ViewContext } from "../view.ts";

/** Maximum number of settings that are listed; the JSON has all. */
const MAX_SETTINGS = 60;
const MAX_VALUE = 300;

/** The members of a payload that name a blob. */
const BLOBS = [
  "feature_url",
  "data_extractor_url",
  "previous_feature_url",
  "previous_data_extractor_url",
  "output_url",
];

/** What an operation was submitted with: its inputs, the settings that differ from their defaults, and the JSON. */
export function ConfigSection({ operation }: { readonly operation: OperationView }): VNode {
  const context = useView();
  return h(Loaded<RunConfig | undefined>, {
    read: () => readRunConfig(operation, context),
    show: (config) =>
      html`${config && html`<section><h2>Inputs and config</h2>${contentsOf(operation, config, context)}</section>`}`,
  });
}

function contentsOf(
  { operation }: OperationView,
  { settings, payload }: RunConfig,
  { baseUrl, mayWrite }: ViewContext,
): VNode {
  const changed = settings.filter(isChanged);
  const more = changed.length - MAX_SETTINGS;
  const inputs = BLOBS.flatMap((member): Fact[] => {
    const url = valueAt(payload, [member]);
    if (typeof url !== "string") return [];
    const name = url.startsWith(`${baseUrl}data/`) ? url.slice(`${baseUrl}data/`.length) : "";
    const isOwn = /^[A-Za-z0-9_.-]{1,100}$/.test(name);
    return [
      [labelOf(member) ?? member, isOwn ? h(Download, { name, words: name, kind: "plain" }) : code(url)],
    ];
  });
  const urls = BLOBS.slice(0, 2).map((member) => [member, valueAt(payload, [member])]);
  const params = new URLSearchParams(urls.map(([member, url]) => [String(member), String(url)]));
  if (operation === "run_dl_job") params.set("operation", operation);
  return html`${facts(inputs)}
    ${
      mayWrite &&
      urls.every(([, url]) => typeof url === "string") &&
      html`<p><a href=${`#/job?${params}`}>New job with these inputs</a></p>`
    }
    ${
      changed.length === 0
        ? html`<p class="hint">Every setting has its default.</p>`
        : html`<h3>Settings other than the defaults</h3>
        <dl class="settings">${changed.slice(0, MAX_SETTINGS).map(settingItem)}</dl>`
    }
    ${more > 0 && html`<p class="hint">and ${more} more, which the JSON has</p>`}
    ${h(Command, {
      summary: "Show the payload as JSON",
      hint: "Without the queries of URLs and the sections of other services, which are not stored.",
      text: treeText(payload),
    })}`;
}

function settingItem(setting: Setting): VNode {
  const { value, byDefault } = setting;
  const words = settingLabel(setting);
  return html`<div>
    <dt>${words !== undefined && `${words} `}${code(settingName(setting))}</dt>
    <dd>${bdi(value, MAX_VALUE)}${byDefault !== undefined && html`<span class="hint"> default ${bdi(byDefault, 60)}</span>`}</dd>
  </div>`;
}
