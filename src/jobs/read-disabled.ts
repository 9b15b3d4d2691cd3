import type { Warning } from "../contract/warnings.ts";
import type { JobContext, JobRequest } from "./job.ts";
import { type Inputs, openInputs } from "./read-inputs.ts";
import { openWorkFolder } from "./work-folder.ts";

/** Why an output has no forecasts. */
export const DISABLED: Warning = {
  code: "disabled",
  message: "config.NN params.Dot prediction.status is false: nothing was trained, and mu is empty.",
};

/**
 * Reads both blobs for the window and the digests that the output tells; nothing is made of their rows.
 * @throws MucastError of the reading.
 */
export async function readDisabled(request: JobRequest, context: JobContext): Promise<Inputs> {
  const work = openWorkFolder();
  try {
    const inputs = await openInputs(request, context, work.path);
    try {
      for (const warning of inputs.warnings) context.report({ kind: "warning", warning });
      for await (const _ of inputs.panels()) context.signal.throwIfAborted();
      return inputs;
    } finally {
      await inputs.close();
    }
  } finally {
    work.remove();
  }
}
