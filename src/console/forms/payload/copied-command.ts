import { element, fill } from "../../dom.ts";

/** A command that the reader can view and copy. */
export interface CopiedCommand {
  readonly element: HTMLElement;
  show(command: string): void;
}

/** @param hint what the reader needs to know to run it. */
export function copiedCommand(summary: string, hint: string): CopiedCommand {
  const text = element("pre", { tabindex: 0, class: "code", role: "region", "aria-label": summary });
  const status = element("span", { role: "status" });
  const copy = element("button", { type: "button" }, "Copy");
  copy.addEventListener("click", async () =>
    fill(status, (await isCopied(text)) ? "Copied." : "Selected. Copy it with your keyboard."),
  );
  return {
    element: element(
      "details",
      { class: "command" },
      element("summary", {}, summary),
      element("p", { class: "hint" }, hint),
      text,
      element("p", {}, copy, " ", status),
    ),
    show: (command) => {
      fill(text, command);
      fill(status);
    },
  };
}

/** Copies the text. If the browser denies access to the clipboard, for example over plain http, it selects the text. */
async function isCopied(text: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text.textContent ?? "");
    return true;
  } catch {
    getSelection()?.selectAllChildren(text);
    return false;
  }
}
