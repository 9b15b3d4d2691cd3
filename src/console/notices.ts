import { element } from "./dom.ts";
import { shown } from "./shown-text.ts";

const MAX_NOTICES = 3;

/** Sentences above the view about what was done or failed. A notice stays until the reader dismisses it or has left two views. */
export class Notices {
  readonly element = element("div", { class: "notices", role: "status" });

  add(message: string, kind: "done" | "failed"): void {
    const notice = element("p", { class: `notice ${kind}` }, shown(message, 1_000), " ");
    notice.append(
      element("button", { type: "button", class: "plain", onclick: () => notice.remove() }, "Dismiss"),
    );
    this.element.append(notice);
    while (this.element.childElementCount > MAX_NOTICES) this.element.firstElementChild!.remove();
  }

  /** Called when the view changes: a notice from the previous view is still visible in the next one. */
  age(): void {
    for (const notice of [...this.element.children] as HTMLElement[]) {
      if (notice.dataset.read !== undefined) notice.remove();
      else notice.dataset.read = "";
    }
  }
}
