import type { VNode } from "preact";
import { useId, useState } from "preact/hooks";
import type { ExampleConfig } from "../../contract/config/example-configs.ts";
import { html, onText, select } from "../../view/html.ts";
import { type Draft, readTree, valueAt, withValue } from "./draft.ts";

interface ExampleChooserProps {
  readonly examples: readonly ExampleConfig[];
  readonly draft: Draft;
  onDraft(draft: Draft): void;
}

/** Offers the example configs of a job. The chosen one becomes the config; what it has replaced comes back with one click. */
export function ExampleChooser({ examples, draft, onDraft }: ExampleChooserProps): VNode {
  const id = useId();
  const [name, setName] = useState("");
  const [said, say] = useState("");
  const [replaced, setReplaced] = useState<Draft>();
  const pick = (value: string) => {
    const { config, summary } = examples.find((example) => example.name === value)!;
    setName(value);
    if (draft.fault !== undefined) return say("Fix the JSON first.");
    const before = valueAt(draft.tree, ["config"]);
    const texts = examples.map((example) => JSON.stringify(example.config));
    setReplaced(before === undefined || texts.includes(JSON.stringify(before)) ? undefined : draft);
    onDraft(withValue(draft, ["config"], readTree(JSON.stringify(config), value)));
    say(`The form now has the config ${value}. ${summary}.`);
  };
  const undo = () => {
    onDraft(replaced!);
    setReplaced(undefined);
    setName("");
    say("The form has your own config again.");
  };
  const names = examples.map((example) => [example.name, example.name] as const);
  return html`<div class="field examples">
    <label for=${id}>Start from an example config</label>
    <div class="beside">
      ${select(name, name === "" ? [["", "choose one"], ...names] : names, {
        id,
        "aria-describedby": `${id}-hint`,
        onChange: onText(pick),
      })}
      ${replaced !== undefined && html`<button type="button" onClick=${undo}>Undo</button>`}
    </div>
    <p class="hint" id=${`${id}-hint`} role="status">${said}</p>
  </div>`;
}
