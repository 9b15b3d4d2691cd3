/** What unread event streams cost: the service's resident memory with this many of them open. */
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { openDatabase } from "../../src/service/database/database.ts";
import { Api } from "../../test/service/api.testing.ts";
import { payload, putInputs } from "../../test/service/inputs.testing.ts";
import { endServices, serviceFolder, startServe } from "../../test/service/service.testing.ts";
import type { Table } from "../table.ts";
import { peakResidentMiB, resetPeakMemory, residentMiB } from "./resident-memory.ts";
import { closeUnread, type UnreadAnswer, unreadAnswer } from "./unread-answer.ts";

const STREAMS = 400;
const AT_ONCE = 20;
const SETTLED_MILLISECONDS = 10_000;
/** More than the buffers of a connection hold, including the kernel's. */
const BYTES = 16 * 2 ** 20;

/** As large as events of `epochs` may be; the database compresses repetitions. */
const POINTS: Readonly<Record<string, () => string>> = {
  "that differ": () => randomBytes(75).toString("hex"),
  "all alike": () => "x".repeat(150),
};
const POINTS_AT_ONCE = 800;

const HEADER = ["events", "attempted", "begun", "before", "at most", "while open", "after"];

export async function benchUnreadStreams(): Promise<Table> {
  const rows: string[][] = [];
  for (const [name, ticker] of Object.entries(POINTS)) rows.push([name, ...(await measure(ticker))]);
  return {
    title: "resident memory of the service in MiB, with streams of events open that are not read",
    header: HEADER,
    rows,
  };
}

async function measure(ticker: () => string): Promise<string[]> {
  try {
    const folder = await serviceFolder();
    const id = await endedOperation(folder);
    await addEpochs(`${folder}/data`, id, ticker);
    const { pid, port } = await startServe({ folder, env: { MUCAST_LOG_LEVEL: "error" } });
    const before = residentMiB(pid);
    resetPeakMemory(pid);
    const open = await openAll(port, `/v1/operations/${id}/events`);
    await pause(SETTLED_MILLISECONDS);
    const held = residentMiB(pid);
    const most = peakResidentMiB(pid);
    closeUnread(open);
    await pause(SETTLED_MILLISECONDS);
    const begun = open.filter(({ status }) => status === 200).length;
    return [STREAMS, begun, before, most, held, residentMiB(pid)].map((figure) => figure.toFixed(0));
  } finally {
    await endServices();
  }
}

async function endedOperation(folder: string): Promise<string> {
  const serving = await startServe({ folder });
  const api = new Api(serving.url);
  await putInputs(api, "small");
  const { id } = await api.submit(payload(serving.url, "small"), { prefer: "wait=60" });
  await serving.terminate();
  return id;
}

/** Adds epochs before the last event, as a job of networks reports them. */
async function addEpochs(data_dir: string, operation_id: string, ticker: () => string): Promise<void> {
  const database = await openDatabase({ data_dir });
  const points = Array.from({ length: POINTS_AT_ONCE }, (_, i) => ({
    ...{ ticker: ticker(), epoch: i + 1, train_loss: null, validation_loss: null },
  }));
  const data = JSON.stringify({ points });
  const count = Math.ceil(BYTES / data.length);
  await database.write(async (db) => {
    const { last_seq } = await db
      .updateTable("operations")
      .set(({ eb }) => ({ last_seq: eb("last_seq", "+", count) }))
      .where("id", "=", operation_id)
      .returning("last_seq")
      .executeTakeFirstOrThrow();
    const last = db.updateTable("events").set({ seq: last_seq }).where("operation_id", "=", operation_id);
    await last.where("seq", "=", last_seq - count).execute();
    for (let seq = last_seq - count; seq < last_seq; seq++)
      await db.insertInto("events").values({ operation_id, seq, type: "epochs", data }).execute();
  });
  await database.close();
}

async function openAll(port: number, path: string): Promise<UnreadAnswer[]> {
  const open: UnreadAnswer[] = [];
  let left = STREAMS;
  const opener = async () => {
    while (left-- > 0) open.push(await unreadAnswer(port, path));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, opener));
  return open;
}
