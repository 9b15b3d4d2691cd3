import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { h, html } from "../../view/html.ts";
import { type Forms, fetchForms } from "../forms/schema.ts";
import { Loaded } from "../view.ts";
import { Inputs, type ReadyInputs } from "./data-section.ts";

/** Uploads inputs, or prepares them, and links to the job that uses them. */
export function UploadForm(): VNode {
  const [inputs, setInputs] = useState<ReadyInputs>();
  const onStored = (more: ReadyInputs) => setInputs((before) => ({ ...before, ...more }));
  return html`${h(Loaded<Forms>, { read: fetchForms, show: (forms) => h(Inputs, { forms, onStored }) })}
    <p role="status">${inputs && html`<a href=${`#/job?${new URLSearchParams({ ...inputs })}`}>Submit a job with these inputs</a>`}</p>`;
}
