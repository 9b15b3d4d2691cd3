import { element, fill } from "./dom.ts";
import { errorWords } from "./problem.ts";
import type { ViewContext } from "./view.ts";
import { textElement } from "./words.ts";

/** Saves a blob of the caller. A link cannot send a key, so the bytes come through fetch if a key is needed. */
export function downloadLink(
  name: string,
  words: string,
  { client, baseUrl, hasCredentials, notify, signal }: ViewContext,
  style: "button" | "plain" = "button",
): HTMLElement {
  const path = `${baseUrl}data/${encodeURIComponent(name)}`;
  if (!hasCredentials) return element("a", { class: style, href: path, download: name }, words);
  const button = element("button", { type: "button", class: style }, words);
  button.addEventListener("click", async () => {
    button.disabled = true;
    fill(button, "Downloading\u2026");
    try {
      const blob = await (await client.getBlob(name, { signal })).blob();
      const url = URL.createObjectURL(blob);
      element("a", { href: url, download: name }).click();
      // By then the browser has started to read it.
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (error) {
      if (!signal.aborted)
        notify(`Could not read ${textElement(name, 100).textContent}. ${errorWords(error)}`, "failed");
    } finally {
      button.disabled = false;
      fill(button, words);
    }
  });
  return button;
}
