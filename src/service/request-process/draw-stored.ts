import { openStore } from "../../blob/open-store.ts";
import { drawReport } from "../../report/write-report.ts";
import type { ReportOrder } from "./messages.ts";

/** The page of outputs in the storage. @throws MucastError of reading it and of `drawReport`. */
export async function drawStored({ storage, outputs }: ReportOrder): Promise<string> {
  const store = await openStore(storage.blobUrl, { policy: storage.policy });
  try {
    const stored = outputs.map(({ space, name, etag }) => ({
      name,
      read: () => store.within(space).read(`data/${name}`, { etag }),
    }));
    return await drawReport(stored);
  } finally {
    await store.close();
  }
}
