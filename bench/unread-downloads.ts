/** What unread downloads cost: the service's resident memory with so many of them open. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { Api } from "../test/service/api.testing.ts";
import { endServices, type Serving, startServe } from "../test/service/service.testing.ts";
import type { Table } from "./table.ts";

const AT_ONCE = [0, 100, 200, 400] as const;
/** More than the buffers of a connection hold, in the kernel too. */
const BLOB = Buffer.alloc(32 * 2 ** 20, 32);

export async function benchUnreadDownloads(): Promise<Table> {
  const most = String(AT_ONCE.at(-1));
  try {
    const serving = await startServe({
      env: { MUCAST_DOWNLOADS: most, MUCAST_DOWNLOADS_PER_CALLER: most, MUCAST_LOG_LEVEL: "warn" },
    });
    await new Api(serving.url).put("feature_engine_large.json", BLOB);
    return {
      title: "resident memory of the service in MiB, with so many downloads open that are not read",
      header: AT_ONCE.map(String),
      rows: [await measure(serving)],
    };
  } finally {
    await endServices();
  }
}

async function measure({ pid, port }: Serving): Promise<string[]> {
  const sockets: Socket[] = [];
  const seen: string[] = [];
  for (const count of AT_ONCE) {
    while (sockets.length < count) sockets.push(await unread(port));
    seen.push(residentMiB(pid).toFixed(0));
  }
  for (const socket of sockets) socket.destroy();
  return seen;
}

async function unread(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.write(`GET /data/feature_engine_large.json HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  await once(socket, "readable");
  return socket;
}

function residentMiB(pid: number): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))!;
  return Number(kibibytes) / 1_024;
}
