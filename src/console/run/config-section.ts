import type { VNode } from "preact";
import type { OperationView } from "../../client/index.ts";
import { h, html } from "../../view/html.ts";
import { type Fact, facts } from "../../view/panel.ts";
import { bdi, code } from "../../view/text.ts";
import { Command } from "../forms/command.ts";
import { treeText, valueAt } from "../forms/draft.ts";
import { labelOf } from "../forms/labels.ts";
import { BLOBS, isChanged, type RunConfig, readRunConfig, settingNames } from "../forms/settings.ts";
import { Download } from "../links.ts";
import { Loaded, useView, type ViewContext } from "../view.ts";

const MAX_VALUE = 300;

/** What an operation was submitted with: its inputs, the settings that differ from their defaults, and the JSON. */
export function ConfigSection({ operation }: { readonly operation: OperationView }): VNode {
  const context = useView();
  return h(Loaded<RunConfig | undefined>, {
    read: () => readRunConfig(operation, context),
    show: (config) =>
      html`${config && html`<section><h2>Inputs and config</h2>${contentsOf(config, context)}</section>`}`,
  });
}

function contentsOf({ settings, payload }: RunConfig, { baseUrl }: ViewContext): VNode {
  const changed = settings.filter(isChanged);
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
