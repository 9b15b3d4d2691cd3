import { isInputName, outputIdIn } from "../../../blob/names.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import { show } from "../../../contract/errors/faults.ts";

/** @throws MucastError not_found for a name that no blob can have. */
export function checkReadable(name: string): void {
  if (!isInputName(name) && outputIdIn(name) === undefined) throw noBlob(name);
}

/** @throws MucastError method_not_allowed for outputs, which only jobs write; invalid_request for other names. */
export function checkWritable(name: string): void {
  if (isInputName(name)) return;
  if (outputIdIn(name) !== undefined) {
    throw new MucastError("method_not_allowed", `${name} is an output, which jobs alone write`, {
      allow: ["DELETE", "GET", "HEAD"],
    });
  }
  throw new MucastError(
    "invalid_request",
    `the name ${show(name)} is neither feature_engine_<id>.json nor data_extractor_<id>.json with an id of 1 to 64 ` +
      'letters, digits, "_" or "-"',
    { path: "name" },
  );
}

/** The same for a blob that does not exist and for a blob of another caller. */
export function noBlob(name: string): MucastError {
  return new MucastError("not_found", `there is no blob ${show(name)}`, { path: "name" });
}
