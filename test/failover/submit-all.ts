import { randomUUID } from "node:crypto";
import { Api } from "../service/api.testing.ts";
import { payload } from "../service/inputs.testing.ts";

const CONNECTIONS = 16;

/**
 * Submits small jobs, each under its own idempotency key, to every service in turn. Every fifth is submitted again, at another service.
 * @param storage URL of the container that has the inputs.
 * @returns their ids.
 * @throws Error if a repeated key returns another id.
 */
export async function submitAll(
  urls: readonly string[],
  storage: string,
  jobs: number,
): Promise<readonly string[]> {
  const keys = Array.from({ length: jobs }, () => randomUUID());
  const ids = new Map<string, string>();
  const body = payload(storage, "small");
  const waiting = keys.entries();
  const submitNext = async () => {
    for (const [index, key] of waiting) {
      const to = (at: number) => new Api(urls[at % urls.length]!);
      const { id } = await to(index).submit(body, { "idempotency-key": key });
      ids.set(key, id);
      if (index % 5 > 0) continue;
      const again = await to(index + 1).post("run_ml_job", body, { "idempotency-key": key });
      if (JSON.parse(again.text).id !== id) throw new Error(`${key} gave ${id} and then ${again.text}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, submitNext));
  return [...ids.values()];
}
