import { element, fill } from "../../dom.ts";
import { downloadLink } from "../../download-link.ts";
import { labelOf } from "../../forms/fields/labels.ts";
import { treeText, valueAt } from "../../forms/fields/payload-tree.ts";
import { copiedCommand } from "../../forms/payload/copied-command.ts";
import { errorWords } from "../../problem.ts";
import { isChanged, type Setting, settingLabel, settingName } from "../../settings/config-settings.ts";
import { type RunConfig, readRunConfig } from "../../settings/run-config.ts";
import type { ViewContext } from "../../view.ts";
import { code, type Fact, facts, textElement } from "../../words.ts";
import type { Panel } from "./panel.ts";

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

/** What an operation was submitted with: its inputs, the settings that differ from their defaults, and the JSON. It is read once. */
export function configPanel(context: ViewContext): Panel {
  const section = element("section", { hidden: true });
  let isRead = false;
  return {
    element: section,
    show: ({ operation }) => {
      if (isRead) return;
      isRead = true;
      readRunConfig(operation, context)
        .then((config) => {
          section.hidden = config === undefined;
          if (config !== undefined) fill(section, ...contentsOf(operation.operation, config, context));
        })
        .catch((error: unknown) => {
          if (context.signal.aborted) return;
          section.hidden = false;
          fill(
            section,
            element("p", { class: "hint" }, `The config could not be read. ${errorWords(error)}`),
          );
        });
    },
  };
}

function contentsOf(operation: string, config: RunConfig, context: ViewContext): HTMLElement[] {
  const { settings, payload } = config;
  const changed = settings.filter(isChanged);
  const more = changed.length - MAX_SETTINGS;
  const json = copiedCommand(
    "Show the payload as JSON",
    "Without the queries of URLs and the sections of other services, which are not stored.",
  );
  json.show(treeText(payload));
  return [
    element("h2", {}, "Inputs and config"),
    facts(...inputFacts(config, context)),
    newJobLink(operation, config, context),
    changed.length === 0
      ? element("p", { class: "hint" }, "Every setting has its default.")
      : element("h3", {}, "Settings other than the defaults"),
    element("dl", { class: "settings" }, ...changed.slice(0, MAX_SETTINGS).map(settingItem)),
    ...(more > 0 ? [element("p", { class: "hint" }, `and ${more} more, which the JSON has`)] : []),
    json.element,
  ].filter((part) => part !== undefined);
}

/** The blobs that the payload names. One of this service is a link to its bytes. */
function inputFacts({ payload }: RunConfig, context: ViewContext): Fact[] {
  const base = `${context.baseUrl}data/`;
  return BLOBS.flatMap((member): Fact[] => {
    const url = valueAt(payload, [member]);
    if (typeof url !== "string") return [];
    const name = url.startsWith(base) ? url.slice(base.length) : "";
    const isOwn = /^[A-Za-z0-9_.-]{1,100}$/.test(name);
    return [[labelOf(member) ?? member, isOwn ? downloadLink(name, name, context, "plain") : code(url)]];
  });
}

function newJobLink(
  operation: string,
  { payload }: RunConfig,
  { mayWrite }: ViewContext,
): HTMLElement | undefined {
  const urls = ["feature_url", "data_extractor_url"].map((name) => [name, valueAt(payload, [name])] as const);
  if (!mayWrite || !urls.every(([, url]) => typeof url === "string")) return undefined;
  const params = new URLSearchParams(urls.map(([name, url]) => [name, String(url)]));
  if (operation === "run_dl_job") params.set("operation", operation);
  return element("p", {}, element("a", { href: `#/job?${params}` }, "New job with these inputs"));
}

function settingItem(setting: Setting): HTMLElement {
  const { value, byDefault } = setting;
  const words = settingLabel(setting);
  return element(
    "div",
    {},
    element("dt", {}, words !== undefined && `${words} `, code(settingName(setting))),
    element(
      "dd",
      {},
      textElement(value, MAX_VALUE),
      byDefault !== undefined && element("span", { class: "hint" }, " default ", textElement(byDefault, 60)),
    ),
  );
}
