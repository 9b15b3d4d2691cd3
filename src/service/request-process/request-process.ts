/** The process of one request, or of one ended job. The service starts it and sends an order; it sends its answer, and exits. */
import { MucastError } from "../../contract/errors/errors.ts";
import { ParentChannel } from "../../processes/parent-channel.ts";
import type { FromRequest, RequestOrder } from "./messages.ts";

/** The service can do other work between two pieces. */
const PIECE_BYTES = 2 ** 20;

const service = new ParentChannel<RequestOrder, FromRequest>({
  onMessage: (order) => void work(order),
  onParentEnd: () => process.exit(1),
});

async function work(order: RequestOrder): Promise<void> {
  try {
    await answer(Buffer.from(await answerTo(order)));
  } catch (error) {
    // After a defect, the service logs what a process has printed.
    if (!(error instanceof MucastError)) console.error(error);
    const { code, message, data } = error instanceof MucastError ? error : DEFECT;
    void service.send({ event: "failed", code, text: message, data });
  }
  await service.exit();
}

const DEFECT = new MucastError("internal", "a defect");

/** Each kind loads only its own modules. */
async function answerTo(order: RequestOrder): Promise<string> {
  switch (order.kind) {
    case "prepare":
      return (await import("./prepare-request.ts")).prepareRequest(order);
    case "report":
      return (await import("./draw-stored.ts")).drawStored(order);
    case "track":
      return (await import("./track-stored.ts")).trackStored(order);
  }
}

async function answer(bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    await service.send({ event: "piece", bytes: bytes.subarray(at, at + PIECE_BYTES) });
  void service.send({ event: "end" });
}
