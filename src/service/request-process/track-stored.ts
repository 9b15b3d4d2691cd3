import { openStore } from "../../blob/open-store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { trackRun } from "../../tracking/track-run.ts";
import { readTrackedOutput } from "../../tracking/tracked-output.ts";
import { trackerOf } from "../../tracking/tracker.ts";
import type { TrackOrder } from "./messages.ts";

const NEVER = new AbortController().signal;

/**
 * Records an output in the storage at the tracker of the environment.
 * @returns a TrackedRun as JSON. @throws MucastError of reading it and of `trackRun`.
 */
export async function trackStored({ storage, space, name, seconds }: TrackOrder): Promise<string> {
  const tracker = trackerOf(process.env);
  if (tracker === undefined) throw new MucastError("internal", "the process has no tracker");
  const store = await openStore(storage.blobUrl, { policy: storage.policy });
  try {
    const output = await readTrackedOutput(name, store.within(space).read(`data/${name}`));
    return JSON.stringify(await trackRun(output, tracker, NEVER, { totalMs: seconds * 1_000 }));
  } finally {
    await store.close();
  }
}
