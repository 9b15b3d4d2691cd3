import { element, fill } from "../dom.ts";
import type { View } from "../view.ts";
import { makeInputs, type ReadyInputs } from "./inputs/input-forms.ts";

/** Uploads inputs, or prepares them, and links to the job that uses them. */
export const showUploadForm: View = (container, context) => {
  let inputs: ReadyInputs = {};
  const next = element("p", { role: "status" });
  const ready = (more: ReadyInputs) => {
    inputs = { ...inputs, ...more };
    fill(
      next,
      element("a", { href: `#/job?${new URLSearchParams({ ...inputs })}` }, "Submit a job with these inputs"),
    );
  };
  container.append(makeInputs(context, ready), next);
};
