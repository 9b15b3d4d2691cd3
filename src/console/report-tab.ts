import type { ReportLink } from "../client/index.ts";
import { errorWords } from "./problem.ts";
import type { ViewContext } from "./view.ts";

/** Opens a link to a report in a new tab; the button is disabled meanwhile. */
export async function openReport(
  button: HTMLButtonElement,
  link: () => Promise<ReportLink>,
  { notify, signal }: Pick<ViewContext, "notify" | "signal">,
): Promise<void> {
  button.disabled = true;
  try {
    const { url } = await link();
    // Browsers allow a new tab for a few seconds after the click. With "noopener" they would not say whether they opened it.
    const tab = open(url, "_blank");
    if (tab === null) {
      const words = "The browser blocked the new tab. Allow pop-ups for this page and open the report again.";
      notify(words, "failed");
    } else {
      tab.opener = null;
    }
  } catch (error) {
    if (!signal.aborted) notify(`Could not open the report. ${errorWords(error)}`, "failed");
  } finally {
    button.disabled = false;
  }
}
