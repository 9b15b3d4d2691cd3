/** The process of one request, or of one ended job. The service starts it and sends an order; it sends its answer, and exits. */
import { openStore } from "../../blob/open-store.ts";
import type { BlobStore } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { openParentChannel } from "../../processes/parent-channel.ts";
import type { StorageAccess } from "../blobs/storage.ts";
import type { FromRequest, RequestOrder } from "./request-processes.ts";

const service = openParentChannel<RequestOrder, FromRequest>(async (order) => {
  try {
    void service.send({ event: "answer", bytes: Buffer.from(await answerTo(order)) });
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
    case "prepare": {
      const { prepareRequest } = await import("./prepare-request.ts");
      return JSON.stringify(await prepareRequest(order));
    }
    case "report": {
      const { drawReport } = await import("../../report/write-report.ts");
      return withStore(order.storage, (store) =>
        drawReport(
          order.outputs.map(({ space, name, etag }) => ({
            name,
            read: () => store.within(space).read(`data/${name}`, { etag }),
          })),
        ),
      );
    }
    case "track": {
      const { trackRun } = await import("../../tracking/track-run.ts");
      const { readTrackedOutput } = await import("../../tracking/tracked-output.ts");
      const { trackerOf } = await import("../../tracking/tracker.ts");
      const { name, space, seconds } = order;
      return withStore(order.storage, async (store) => {
        const output = await readTrackedOutput(name, store.within(space).read(`data/${name}`));
        const never = new AbortController().signal;
        const limits = { totalMs: seconds * 1_000 };
        return JSON.stringify(await trackRun(output, trackerOf(process.env)!, never, limits));
      });
    }
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
