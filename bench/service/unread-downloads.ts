/** What answers cost that callers request and do not read: the service's resident memory with this many of them open. */
import { setTimeout as pause } from "node:timers/promises";
import { mucast } from "../../test/end-to-end/commands/command.ts";
import { startAzurite } from "../../test/servers/azurite.testing.ts";
import { Api } from "../../test/service/api.testing.ts";
import { endServices, type Serving, serviceFolder, startServe } from "../../test/service/service.testing.ts";
import type { Table } from "../table.ts";
import { peakResidentMiB, resetPeakMemory, residentMiB } from "./resident-memory.ts";
import { closeUnread, type UnreadAnswer, unreadAnswer } from "./unread-answer.ts";

/** At the default limits, 200 per caller and 1,000 in total, the first callers are refused some and the last ones all. */
const ATTEMPTS = 1_500;
const CALLERS = 6;
const AT_ONCE = 20;
/** A pause for remaining data to arrive, and for Node to return memory. */
const SETTLED_MILLISECONDS = 10_000;
/** More than the buffers of a connection hold, including the kernel's. */
const BLOB = Buffer.alloc(32 * 2 ** 20, 32);

const HEADER = ["blobs in", "attempted", "begun", "429", "503", "before", "at most", "while open", "after"];

export async function benchUnreadDownloads(): Promise<Table> {
  return {
    title: `resident memory of the service in MiB, with downloads of ${CALLERS} callers open that are not read`,
    header: HEADER,
    rows: [await inFolder(), await inAzure()],
  };
}

async function inFolder(): Promise<string[]> {
  try {
    return ["a folder", ...(await measure({}))];
  } finally {
    await endServices();
  }
}

async function inAzure(): Promise<string[]> {
  const azurite = await startAzurite();
  try {
    await azurite.newContainer("models");
    const env = {
      BLOB_URL: azurite.containerUrl("models"),
      MUCAST_PRIVATE_ORIGINS: azurite.origin,
      AZURE_STORAGE_CONNECTION_STRING: azurite.connectionString,
    };
    return ["Azurite", ...(await measure(env))];
  } finally {
    await endServices();
    await azurite.stop();
  }
}

async function measure(env: Readonly<Record<string, string>>): Promise<string[]> {
  const folder = await serviceFolder();
  const admin = await adminToken(folder);
  const serving = await startServe({
    folder,
    env: { ...env, MUCAST_AUTH: "keys", MUCAST_LOG_LEVEL: "error" },
  });
  const tokens = await callers(serving, admin);
  const before = residentMiB(serving.pid);
  resetPeakMemory(serving.pid);
  const open = await openAll(serving.port, tokens);
  await pause(SETTLED_MILLISECONDS);
  const held = residentMiB(serving.pid);
  const most = peakResidentMiB(serving.pid);
  closeUnread(open);
  await pause(SETTLED_MILLISECONDS);
  const counted = [200, 429, 503].map((status) => open.filter((answer) => answer.status === status).length);
  const memory = [before, most, held, residentMiB(serving.pid)];
  return [ATTEMPTS, ...counted, ...memory].map((figure) => figure.toFixed(0));
}

async function adminToken(folder: string): Promise<string> {
  const words = ["keys", "create", "--name", "bench", "--scopes", "read,write,admin"];
  const made = await mucast([...words, "--data-dir", `${folder}/data`]);
  if (made.code !== 0) throw new Error(made.stderr);
  return made.stdout.trim();
}

function nameOf(caller: number): string {
  return `feature_engine_large${caller}.json`;
}

/** Tokens of callers, each of which has uploaded its blob. */
async function callers({ url }: Serving, admin: string): Promise<string[]> {
  const operator = new Api(url, { authorization: `Bearer ${admin}` });
  const tokens: string[] = [];
  for (let i = 0; i < CALLERS; i++) {
    const made = await operator.ask("POST", "/admin/keys", JSON.stringify({ name: `caller ${i}` }), {
      "content-type": "application/json",
    });
    const { token } = JSON.parse(made.text);
    const put = await new Api(url, { authorization: `Bearer ${token}` }).put(nameOf(i), BLOB);
    if (put.status !== 201) throw new Error(`${put.status}: ${put.text}`);
    tokens.push(token);
  }
  return tokens;
}

/** One caller after the other, some at the same time. */
async function openAll(port: number, tokens: readonly string[]): Promise<UnreadAnswer[]> {
  const open: UnreadAnswer[] = [];
  let next = 0;
  const opener = async () => {
    for (let i = next++; i < ATTEMPTS; i = next++) {
      const caller = Math.floor((i * CALLERS) / ATTEMPTS);
      const authorization = `Bearer ${tokens[caller]}`;
      open.push(await unreadAnswer(port, `/data/${nameOf(caller)}`, { authorization }));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, opener));
  return open;
}
