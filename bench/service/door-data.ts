/** A service with all data that a caller needs to keep it busy, and another caller. */
import { randomBytes } from "node:crypto";
import { withKeys } from "../../src/cli/keys.ts";
import { openDatabase } from "../../src/service/database/database.ts";
import { newRow } from "../../src/service/database/databases.testing.ts";
import { Api } from "../../test/service/api.testing.ts";
import { payload, putInputs } from "../../test/service/inputs.testing.ts";
import { serviceFolder, startServe } from "../../test/service/service.testing.ts";

export const ENV = { MUCAST_AUTH: "keys", MUCAST_LOG_LEVEL: "error" };
const LONG_OPERATIONS = 200;
const EPOCH_EVENTS = 40;

export interface DoorData {
  readonly folder: string;
  readonly port: number;
  /** Keys of the caller that keeps the service busy, and of the one that is measured. */
  readonly tokens: { readonly busy: string; readonly other: string };
  /** Operations of both callers. */
  readonly ids: { readonly ended: string; readonly waiting: string; readonly others: string };
}

export async function prepareDoors(): Promise<DoorData> {
  const folder = await serviceFolder();
  const serving = await startServe({ folder, env: ENV });
  const { port, dataDir } = serving;
  const keyOf = (name: string) => withKeys({ dataDir }, (keys) => keys.create(name, ["read", "write"]));
  const [busy, other] = [await keyOf("busy"), await keyOf("other")];
  const [ended, others] = [await run(serving.url, busy.token), await run(serving.url, other.token)];
  await serving.terminate();
  await fill(dataDir, ended);
  return {
    folder,
    port,
    tokens: { busy: busy.token, other: other.token },
    ids: { ended, waiting: "waiting", others },
  };
}

async function run(url: string, token: string): Promise<string> {
  const api = new Api(url, { authorization: `Bearer ${token}` });
  await putInputs(api, "small");
  const { id, status, error } = await api.submit(payload(url, "small"), { prefer: "wait=60" });
  if (status !== "Succeeded") throw new Error(JSON.stringify(error));
  return id;
}

/** Adds operations with very long names, one that waits forever, and events as large as those of a network job. */
async function fill(data_dir: string, ended: string): Promise<void> {
  const database = await openDatabase({ data_dir });
  const long = (nth: number) => ({
    code: "no_prices",
    ticker: `${nth}`,
    message: `${nth}${"x".repeat(3_000)}`,
  });
  const listed = JSON.stringify(Array.from({ length: 15 }, (_, nth) => long(nth)));
  const points = Array.from({ length: 700 }, (_, nth) => ({
    ...{ ticker: randomBytes(75).toString("hex"), epoch: nth + 1, train_loss: null, validation_loss: null },
  }));
  const data = JSON.stringify({ points });
  await database.write(async (db) => {
    const query = db.selectFrom("operations").select(["caller", "space"]).where("id", "=", ended);
    const { caller, space } = await query.executeTakeFirstOrThrow();
    const end = { status: "Canceled", finished_at: new Date(), warnings: listed, failures: listed } as const;
    const later = { not_before: database.time(365 * 86_400), last_seq: EPOCH_EVENTS };
    const rows = Array.from({ length: LONG_OPERATIONS }, (_, nth) => ({
      ...newRow(`long-${nth}`, caller),
      ...end,
    }));
    for (const row of [...rows, { ...newRow("waiting", caller), ...later }])
      await db
        .insertInto("operations")
        .values({ ...row, space })
        .execute();
    for (let seq = 1; seq <= EPOCH_EVENTS; seq++)
      await db.insertInto("events").values({ operation_id: "waiting", seq, type: "epochs", data }).execute();
  });
  await database.close();
}
