import type { VNode } from "preact";
import type { OperationView, ReportLink } from "../client/index.ts";
import { html } from "../view/html.ts";
import { useAction, useView, type ViewContext } from "./view.ts";
import { KINDS } from "./words.ts";

interface DownloadProps {
  /** Of a blob of the caller. */
  readonly name: string;
  readonly words: string;
  readonly kind?: "button" | "plain";
}

/** Saves a blob. A link cannot send a key, so the bytes come through fetch if a key is needed. */
export function Download({ name, words, kind = "button" }: DownloadProps): VNode {
  const { client, baseUrl, hasCredentials, signal } = useView();
  const { isBusy, run } = useAction(`Could not read ${name}.`, async () => {
    const url = URL.createObjectURL(await (await client.getBlob(name, { signal })).blob());
    const link = document.createElement("a");
    [link.href, link.download] = [url, name];
    link.click();
    // By then the browser has started to read it.
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  });
  if (!hasCredentials)
    return html`<a class=${kind} href=${`${baseUrl}data/${encodeURIComponent(name)}`} download=${name}>${words}</a>`;
  return html`<button type="button" class=${kind} disabled=${isBusy} onClick=${run}>${isBusy ? "Downloading…" : words}</button>`;
}

/** Opens a report in a new tab; without a key it is a link to the report itself, otherwise to an address that opens once. */
export function ReportLinkOf({ id }: Pick<OperationView, "id">): VNode {
  const context = useView();
  const { client, baseUrl, hasCredentials, signal } = context;
  const { isBusy, run } = useAction("Could not open the report.", () =>
    openReport(client.createReportLink(id, { signal }), context),
  );
  const href = `${baseUrl}v1/operations/${encodeURIComponent(id)}/report`;
  return hasCredentials
    ? html`<button type="button" class="main" disabled=${isBusy} onClick=${run}>Open report</button>`
    : html`<a class="button main" href=${href} target="_blank" rel="noopener">Open report</a>`;
}

export async function openReport(link: Promise<ReportLink>, { notify }: ViewContext): Promise<void> {
  // Browsers allow a new tab for a few seconds after the click. With "noopener" they would not say whether they opened it.
  const tab = open((await link).url, "_blank");
  if (tab !== null) tab.opener = null;
  else
    notify(
      "The browser blocked the new tab. Allow pop-ups for this page and open the report again.",
      "failed",
    );
}

/** Opens the form with the payload of an operation, so that it can be changed and submitted again; nothing for one of a later service. */
export function againLink({ id, operation }: Pick<OperationView, "id" | "operation">): VNode | undefined {
  if (!Object.hasOwn(KINDS, operation)) return undefined;
  const form = operation === "audit" || operation === "replay" ? operation : "job";
  return html`<a class="button" href=${`#/${form}?again=${id}`}>Run again…</a>`;
}
