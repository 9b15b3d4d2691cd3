import type { ForecastView } from "../../contract/api/forecast-view.ts";
import { Turns } from "../../contract/machine/pausable.ts";
import { ByteWindow } from "../../ingest/json/byte-window.ts";
import { JsonReader } from "../../ingest/json/json-reader.ts";
import { forecastView } from "./forecast-view.ts";
import { readParts, type Wanted } from "./output-parts.ts";

/**
 * Reads what is wanted of an output as it streams by, and gives way to other requests meanwhile.
 * @param chunks the bytes of the blob.
 * @throws MucastError of `chunks`; unreadable_blob, invalid_data where they are no output; the reason of `signal`.
 */
export async function readForecast(
  outputName: string,
  chunks: AsyncIterable<Uint8Array>,
  wanted: Wanted,
  signal?: AbortSignal,
): Promise<ForecastView> {
  const bytes = new ByteWindow({ name: outputName, chunks }, signal);
  const turns = new Turns(signal);
  const steps = readParts(new JsonReader(bytes), wanted);
  try {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return forecastView(step.value, wanted, outputName);
      await bytes.refill();
      await turns.giveWay();
    }
  } finally {
    await bytes.close();
  }
}
