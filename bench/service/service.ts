/** The service under load, on both databases: each a new one, with the blobs of a small market. */
import { Api } from "../../test/service/api.testing.ts";
import { DATABASES, type DatabaseChoice } from "../../test/service/databases.testing.ts";
import { putInputs } from "../../test/service/inputs.testing.ts";
import { endServices, type Serving, startServe } from "../../test/service/service.testing.ts";
import type { Table } from "../bench.ts";
import { LATENCY_HEADER, measureCommandLine, measureLatency } from "./service-latency.ts";
import { LOAD_HEADER, measureLoad } from "./service-load.ts";
import { MEMORY_HEADER, measureMemory } from "./service-memory.ts";

type Measure = (name: string, serving: Serving) => Promise<string[]>;

export async function benchService(): Promise<readonly Table[]> {
  const latency = await onEach(measureLatency);
  const load = await onEach(measureLoad);
  const memory = await onEach(measureMemory);
  return [
    {
      title: "a small ridge job, 2 tickers of 215 days, one after the other",
      header: LATENCY_HEADER,
      rows: [...latency, measureCommandLine()],
    },
    { title: "500 submissions at 64 connections, each a job that runs", header: LOAD_HEADER, rows: load },
    {
      title: "resident memory of the service in MiB, after so many operations",
      header: MEMORY_HEADER,
      rows: memory,
    },
  ];
}

async function onEach(measure: Measure): Promise<string[][]> {
  const rows: string[][] = [];
  for (const database of DATABASES) rows.push(await onNew(database, measure));
  return rows;
}

async function onNew(database: DatabaseChoice, measure: Measure): Promise<string[]> {
  await database.begin();
  try {
    const serving = await startServe({
      env: { ...(await database.env()), MUCAST_REQUESTS_PER_MINUTE: "10000000", MUCAST_LOG_LEVEL: "warn" },
    });
    await putInputs(new Api(serving.url), "small");
    return await measure(database.name, serving);
  } finally {
    await endServices();
    await database.end();
  }
}
