import type { RefObject, TargetedDragEvent, TargetedEvent, VNode } from "preact";
import { useId, useState } from "preact/hooks";
import { type Child, html } from "../../view/html.ts";

interface DropZoneProps {
  readonly label: string;
  readonly hint: string;
  readonly accept: string;
  readonly isMultiple?: boolean;
  readonly input: RefObject<HTMLInputElement | null>;
  /** Gets the files that the reader has chosen or dropped. */
  onFiles(files: readonly File[]): void;
  /** Below the hint. */
  readonly said?: Child;
}

/** A place for files: a chooser onto which they can also be dropped. */
export function DropZone(props: DropZoneProps): VNode {
  const { label, hint, accept, isMultiple = false, input, onFiles, said } = props;
  const id = useId();
  const [isOver, setOver] = useState(false);
  const drop = (event: TargetedDragEvent<HTMLElement>) => {
    event.preventDefault();
    setOver(false);
    // Otherwise the chooser would name the previous file, or none.
    input.current!.files = event.dataTransfer!.files;
    const items = [...event.dataTransfer!.items];
    const files = items.filter((item) => item.kind === "file" && !item.webkitGetAsEntry()?.isDirectory);
    onFiles(files.flatMap((item) => item.getAsFile() ?? []));
  };
  const over = (event: Event) => {
    event.preventDefault();
    setOver(true);
  };
  return html`<div class=${isOver ? "drop over" : "drop"} onDragOver=${over} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <label for=${id}>${label}</label>
    <input id=${id} ref=${input} type="file" multiple=${isMultiple} accept=${accept} aria-describedby=${`${id}-hint ${id}-said`}
      onChange=${({ currentTarget: { files } }: TargetedEvent<HTMLInputElement>) => onFiles([...(files ?? [])])} />
    <p class="hint" id=${`${id}-hint`}>${hint}</p>
    <p class="file" id=${`${id}-said`}>${said}</p>
  </div>`;
}
