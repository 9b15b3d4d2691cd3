import type { RefObject, TargetedEvent, VNode } from "preact";
import { useId } from "preact/hooks";
import { type Child, html } from "../../view/html.ts";

interface FileFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly accept: string;
  readonly isMultiple?: boolean;
  readonly input: RefObject<HTMLInputElement | null>;
  /** Gets the files that the reader has chosen, or has dropped onto the field. */
  onFiles(files: readonly File[]): void;
  /** Below the hint. */
  readonly said?: Child;
}

export function FileField({
  label,
  hint,
  accept,
  isMultiple = false,
  input,
  onFiles,
  said,
}: FileFieldProps): VNode {
  const id = useId();
  return html`<div class="files">
    <label for=${id}>${label}</label>
    <input id=${id} ref=${input} type="file" multiple=${isMultiple} accept=${accept} aria-describedby=${`${id}-hint ${id}-said`}
      onChange=${({ currentTarget: { files } }: TargetedEvent<HTMLInputElement>) => onFiles([...(files ?? [])])} />
    <p class="hint" id=${`${id}-hint`}>${hint}</p>
    <p class="file" id=${`${id}-said`}>${said}</p>
  </div>`;
}
