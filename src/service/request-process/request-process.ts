/** The process of one request, or of one ended job. The service starts it and sends an order; it sends its answer, and exits. */
import { openStore } from "../../blob/open-store.ts";
import type { BlobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { mib } from "../../engine/process-memory.ts";
import { openParentChannel } from "../../processes/parent-channel.ts";
import type { StorageAccess } from "../blobs/open-storage.ts";
import {
  type FromRequest,
  type ReportOrder,
  type RequestOrder,
  type ToRequest,
  type TrackOrder,
  WORK_WORDS,
} from "./messages.ts";

const service = openParentChannel<ToRequest, FromRequest>(async ({ order, answerBytes }) => {
  try {
    const bytes = Buffer.from(await answerTo(order));
    if (bytes.length > answerBytes) throw tooLong(order, answerBytes);
    void service.send({ event: "answer", bytes });
  } catch (error) {
    // After a defect, the service logs what a process has printed.
    if (!(error instanceof MucastError)) console.error(error);
    const { code, message, data } =
      error instanceof MucastError ? error : new MucastError("internal", "a defect");
    void service.send({ event: "failed", code, text: message, data });
  }
  await service.exit();
});

/** Each kind loads only its own modules. */
async function answerTo(order: RequestOrder): Promise<string> {
  switch (order.kind) {
    case "prepare":
      return (await import("./prepare-request.ts")).prepareRequest(order);
    case "report":
      return withStore(order.storage, (store) => drawStored(store, order));
    case "track":
      return withStore(order.storage, (store) => trackStored(store, order));
  }
}

async function withStore(
  { blobUrl, policy }: StorageAccess,
  work: (store: BlobStore) => Promise<string>,
): Promise<string> {
  const store = await openStore(blobUrl, { policy });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** The page of outputs. @throws MucastError of reading them and of `drawReport`. */
async function drawStored(store: BlobStore, { outputs }: ReportOrder): Promise<string> {
  const { drawReport } = await import("../../report/write-report.ts");
  return drawReport(
    outputs.map(({ space, name, etag }) => ({
      name,
      read: () => store.within(space).read(`data/${name}`, { etag }),
    })),
  );
}

/** Records an output at the tracker of the environment. @returns a TrackedRun as JSON. @throws MucastError of reading it and of `trackRun`. */
async function trackStored(store: BlobStore, { space, name, seconds }: TrackOrder): Promise<string> {
  const { readTrackedOutput } = await import("../../tracking/tracked-output.ts");
  const { trackerOf, trackRun } = await import("../../tracking/tracker.ts");
  const output = await readTrackedOutput(name, store.within(space).read(`data/${name}`));
  const never = new AbortController().signal;
  return JSON.stringify(await trackRun(output, trackerOf(process.env)!, never, { totalMs: seconds * 1_000 }));
}

function tooLong({ kind }: RequestOrder, limit: number): MucastError {
  const message = `to ${WORK_WORDS[kind]} gave more than ${mib(limit)}, the most that the service answers`;
  return new MucastError("too_large", message, { limit });
}
