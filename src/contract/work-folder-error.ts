import { MucastError } from "./errors.ts";
import { causeOf } from "./system-error.ts";

/** The error of a file in a job's work folder: the folder was removed, its disk is full, or no descriptor is left. */
export function workFolderError(doing: "read" | "written", cause: unknown): MucastError {
  const hint = doing === "written" ? "; TMPDIR names another place" : "";
  return new MucastError(
    "output_failed",
    `the work folder of the job cannot be ${doing}: ${causeOf(cause)}${hint}`,
    {},
    { cause },
  );
}
