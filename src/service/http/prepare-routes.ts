import {
  PREPARE_PARTS,
  type PreparedBlobs,
  preparedBlobsSchema,
  prepareQuery,
} from "../../contract/api/prepared-blobs.ts";
import { tooLarge } from "../preparation/preparations.ts";
import { blobUrl, checkWhole } from "./blob-routes.ts";
import { jsonAnswer } from "./document.ts";
import { EXAMPLE_BLOBS } from "./examples.ts";
import { limitAnswers } from "./guard.ts";
import { acceptBodies, type HttpApp, type HttpOptions } from "./http-app.ts";

const PROBLEMS = [
  ...(["unreadable_blob", "invalid_data", "too_large", "precondition_failed", "quota_exceeded"] as const),
  ...(["storage_full", "storage_failed", "blob_unavailable", "timed_out", "process_lost"] as const),
];

const BINARY = { type: "string", format: "binary" };
const FORM = {
  type: "object",
  properties: Object.fromEntries(PREPARE_PARTS.map((part) => [part, BINARY])),
  required: ["prices"],
};

const PREPARED: PreparedBlobs = {
  id: "4f0c1a2b4f0c1a2b",
  feature_url: `${EXAMPLE_BLOBS}/data/feature_engine_4f0c1a2b4f0c1a2b.json`,
  data_extractor_url: `${EXAMPLE_BLOBS}/data/data_extractor_4f0c1a2b4f0c1a2b.json`,
  tickers: ["AAPL", "MSFT"],
  ticker_count: 2,
  dates: 1510,
  start: "2020-01-02",
  end: "2026-01-05",
  learning_end: "2024-12-31",
  features: ["mom_1", "mom_2", "vol_10", "weekday"],
  warnings: ["MSFT: 1 price is zero or negative; its date gets no features"],
  warning_count: 1,
  written: true,
};

/** `POST /v1/prepare`. */
export function prepareRoutes(app: HttpApp, { settings, preparations }: HttpOptions): void {
  // Each has a folder for its files, which may be some hundred megabytes.
  const begin = limitAnswers("preparations", 2, 8);
  acceptBodies(app, "leave");
  app.route({
    method: "POST",
    url: "/v1/prepare",
    config: { access: "write", isStreamed: true, problems: PROBLEMS },
    schema: {
      operationId: "prepare",
      summary: "Turn prices into both input blobs",
      description:
        "Takes prices like `mucast prepare`, as CSV (optionally gzipped) or Parquet, and stores two blobs for the caller: prices, and " +
        "features that are known at the close of their date. The body is the file of prices, or multipart/form-data with a file " +
        "`prices` and a table of further `features`. The same files and query give the same blobs. The response comes when both blobs " +
        "are stored, which takes seconds for a large file. Repeat `tickers` for each ticker.",
      tags: ["Blobs"],
      querystring: prepareQuery,
      // The service reads the bytes whatever their Content-Type; generators of clients do not know text/csv.
      body: {
        content: { "application/octet-stream": { schema: BINARY }, "multipart/form-data": { schema: FORM } },
      },
      response: { 200: jsonAnswer("Both blobs are stored.", preparedBlobsSchema, PREPARED) },
    },
    handler: async (request, reply): Promise<PreparedBlobs> => {
      const { caller, headers, raw, query } = request;
      begin(caller!.subject, reply.raw);
      const limit = settings.prepare_bytes;
      if (Number(headers["content-length"] ?? 0) > limit) throw tooLarge(limit);
      checkWhole(headers["content-range"]);
      if (headers.expect !== undefined) reply.raw.writeContinue();
      const [type] = raw.headersDistinct["content-type"] ?? [];
      const multipartType = /^multipart\/form-data(?:;|$)/i.test(type ?? "") ? type : undefined;
      const body = { bytes: raw, multipartType };
      const prepared = await preparations.prepare(caller!, body, query, reply.abortSignal());
      const store = { url: prepared.storeUrl };
      const { id, files, dates, start, end, written } = prepared;
      return {
        id,
        feature_url: blobUrl(request, store, files.features.name),
        data_extractor_url: blobUrl(request, store, files.prices.name),
        tickers: [...prepared.tickers],
        ticker_count: prepared.tickerCount,
        ...{ dates, start, end },
        learning_end: prepared.learningEnd ?? null,
        features: [...prepared.features],
        warnings: [...prepared.warnings],
        warning_count: prepared.warningCount,
        written,
      };
    },
  });
}
