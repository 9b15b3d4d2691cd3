/** The process of one request, or of one ended job. The service starts it and sends an order; it sends its answer, and exits. */
import { openStore } from "../../blob/open-store.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { openParentChannel } from "../../processes/parent-channel.ts";
import type { FromRequest, RequestOrder, ToRequest } from "./request-processes.ts";

const service = openParentChannel<ToRequest, FromRequest>(async ({ order, answerBytes }) => {
  try {
    const bytes = Buffer.from(await answerTo(order));
    void service.send(bytes.length > answerBytes ? { event: "too_long" } : { event: "answer", bytes });
  } catch (error) {
    // After a defect, the service logs what a process has printed.
    if (!(error instanceof MucastError)) console.error(error);
    const { code, message, data } =
      error instanceof MucastError ? error : new MucastError("internal", "a defect");
    void service.send({ event: "failed", code, text: message, data });
  }
  await service.exit();
});

/** Each kind loads only its own modules. The store ends with the process. */
async function answerTo(order: RequestOrder): Promise<string> {
  if (order.kind === "prepare") {
    const { prepareRequest } = await import("./prepare-request.ts");
    return JSON.stringify(await prepareRequest(order));
  }
  if (order.kind === "validate") {
    const { validateRequest } = await import("./validate-request.ts");
    return JSON.stringify(await validateRequest(order));
  }
  const { blobUrl, policy } = order.storage;
  const store = await openStore(blobUrl, { policy });
  if (order.kind === "report") {
    const { drawReport } = await import("../../report/write-report.ts");
    const outputs = order.outputs.map(({ space, name, etag }) => ({
      name,
      read: () => store.within(space).read(`data/${name}`, { etag }),
    }));
    return drawReport(outputs);
  }
  const { readTrackedOutput } = await import("../../tracking/tracked-output.ts");
  const { trackerOf, trackRun } = await import("../../tracking/tracker.ts");
  const { name, space, seconds } = order;
  const output = await readTrackedOutput(name, store.within(space).read(`data/${name}`));
  const never = new AbortController().signal;
  return JSON.stringify(await trackRun(output, trackerOf(process.env)!, never, { totalMs: seconds * 1_000 }));
}
