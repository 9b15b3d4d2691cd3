import { openStore } from "../../blob/open-store.ts";
import { drawReport } from "../../report/write-report.ts";
import type { ReportOrder } from "./messages.ts";

/** The page of an output in the storage. @throws MucastError of reading it and of `drawReport`. */
export async function drawStored({ storage, space, name, etag }: ReportOrder): Promise<string> {
  const store = await openStore(storage.blobUrl, { policy: storage.policy });
  try {
    return await drawReport(name, store.within(space).read(`data/${name}`, { etag }));
  } finally {
    await store.close();
  }
}
