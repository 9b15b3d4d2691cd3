import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../../view/html.ts";

interface CommandProps {
  readonly summary: string;
  /** What the reader needs to know to use it. */
  readonly hint: string;
  readonly text: string;
}

/** A folded text that the reader can view and copy. */
export function Command({ summary, hint, text }: CommandProps): VNode {
  const [said, say] = useState("");
  const place = useRef<HTMLPreElement>(null);
  useEffect(() => say(""), [text]);
  const copy = () =>
    navigator.clipboard
      ?.writeText(text)
      .then(() => say("Copied."))
      .catch(select) ?? select();
  // A browser may deny access to the clipboard, for example over plain http.
  const select = () => {
    getSelection()?.selectAllChildren(place.current!);
    say("Selected. Copy it with your keyboard.");
  };
  return html`<details class="command"><summary>${summary}</summary>
    <p class="hint">${hint}</p>
    <pre tabindex="0" class="code" role="region" aria-label=${summary} ref=${place}>${text}</pre>
    <p><button type="button" onClick=${copy}>Copy</button> <span role="status">${said}</span></p>
  </details>`;
}
