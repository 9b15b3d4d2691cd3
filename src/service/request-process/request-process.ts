/**
 * The process of one request: `node request-process.ts`, started by the service. It reads one order from stdin, writes its answer to
 * descriptor 3, and exits. If the service is gone, a thread kills it.
 */
import { Socket } from "node:net";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { MucastError } from "../../contract/errors/errors.ts";
import { OOM_SCORES, offerToOomKiller } from "../../executors/process/oom-score.ts";
import { ANSWER_DESCRIPTOR, type AnswerHead, type RequestOrder } from "./messages.ts";

offerToOomKiller(OOM_SCORES.request);
// If the service is gone, so is the reader of stderr.
process.stderr.on("error", () => undefined);

const HERE = import.meta.url;
const watch = new Worker(new URL(`../../executors/process/watch-stdin${extname(HERE)}`, HERE));
watch.on("error", (error) => {
  throw error;
});
watch.on("message", (line: string | undefined) => {
  if (line === undefined) process.exit(1);
  void work(JSON.parse(line) as RequestOrder).then(answer);
});

async function work(order: RequestOrder): Promise<string | MucastError> {
  try {
    return await answerTo(order);
  } catch (error) {
    if (error instanceof MucastError) return error;
    // After a defect, the service logs what a process has written to stderr.
    console.error(error);
    return new MucastError("internal", "a defect");
  }
}

/** Each kind loads only its own modules. */
async function answerTo(order: RequestOrder): Promise<string> {
  switch (order.kind) {
    case "prepare":
      return (await import("./prepare-csv.ts")).prepareCsv(order);
    case "report":
      return (await import("./draw-stored.ts")).drawStored(order);
  }
}

function answer(done: string | MucastError): void {
  const bytes = Buffer.from(done instanceof MucastError ? "" : done);
  const head: AnswerHead = done instanceof MucastError ? { error: errorOf(done) } : { bytes: bytes.length };
  const socket = new Socket({ fd: ANSWER_DESCRIPTOR, readable: false, writable: true });
  // The service is gone, or no longer wants the answer.
  socket.on("error", () => process.exit(1));
  socket.write(`${JSON.stringify(head)}\n`);
  socket.end(bytes, () => process.exit(0));
}

function errorOf({ code, message, data }: MucastError) {
  return { code, message, data };
}
