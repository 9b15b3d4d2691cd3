import { stat } from "node:fs/promises";
import { MucastError } from "../contract/errors/errors.ts";
import { filePath, isUrl } from "./location.ts";
import { withoutSignature } from "./policy.ts";

/**
 * Refuses a blob that can be read only once, for a caller that reads it again: a second reading would wait for a writer that is gone.
 * @throws MucastError invalid_request for a pipe; a missing blob is reported when it is opened.
 */
export async function refusePipe(location: string): Promise<void> {
  const isFile = /^file:/i.test(location);
  if (isUrl(location) && !isFile) return;
  const path = isFile ? filePath(location) : location;
  if ((await stat(path).catch(() => undefined))?.isFIFO() !== true) return;
  const name = withoutSignature(location);
  const message = `${name} is a pipe, which can be read once alone; write its bytes to a file and name that`;
  throw new MucastError("invalid_request", message, { value: name });
}
