import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import {
  PREPARE_PARTS,
  type PreparedBlobs,
  type PrepareQuery,
  preparedBlobsSchema,
  prepareQuery,
} from "../../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import { type Prepared, tooLarge } from "../../preparation/preparations.ts";
import { OpenAnswers } from "../guard/caller-limits.ts";
import { EXAMPLE_BLOBS } from "../openapi/examples.ts";
import { jsonAnswer, problemAnswers } from "../openapi/route-docs.ts";
import { blobBase, type HttpApp, type HttpOptions } from "../server/http-app.ts";
import { requestAbort, whileIdle } from "../server/request-abort.ts";
import { gatheredPieces, ignoreContentType } from "../server/request-bodies.ts";

/** Each has a folder for its files, which may be some hundred megabytes. */
const MAX_OPEN = { ofCaller: 2, all: 8, what: "preparations" };

/** `POST /v1/prepare`. */
export function prepareRoutes(app: HttpApp, options: HttpOptions, closing: AbortSignal): void {
  const open = new OpenAnswers(MAX_OPEN);
  app.removeAllContentTypeParsers();
  ignoreContentType(app);
  // The handler reads the body itself, piece by piece.
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  app.route({
    method: "POST",
    url: "/v1/prepare",
    config: { access: "write", isStreamed: true },
    schema: prepareDocs(),
    preValidation: async (request) => {
      const query = request.query as { tickers?: unknown };
      // Fastify parses a parameter that occurs once as text.
      if (typeof query.tickers === "string") query.tickers = [query.tickers];
    },
    handler: async (request, reply) => {
      open.begin(request.caller!.subject, reply.raw);
      return prepareBlobs(request, reply, request.query, options, requestAbort(reply, closing));
    },
  });
}

async function prepareBlobs(
  request: FastifyRequest,
  reply: FastifyReply,
  query: PrepareQuery,
  { settings, preparations }: HttpOptions,
  signal: AbortSignal,
): Promise<PreparedBlobs> {
  const { headers, raw } = request;
  checkHeaders(headers, settings.prepare_bytes);
  if (headers.expect !== undefined) reply.raw.writeContinue();
  // If the work stops early, the connection must stay open for the problem.
  const bytes: AsyncIterable<Uint8Array> = gatheredPieces(raw).iterator({ destroyOnReturn: false });
  const body = { bytes, multipartType: multipartType(raw) };
  const preparing = preparations.prepare(request.caller!, body, query, signal);
  const prepared = await whileIdle(request, preparing);
  const base = blobBase(settings, { url: prepared.storeUrl }, request);
  return answerOf(prepared, (name) => `${base}/data/${name}`);
}

/** The Content-Type if it is multipart; `ignoreContentType` has removed it from the headers. */
function multipartType({ rawHeaders }: IncomingMessage): string | undefined {
  const at = rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === "content-type");
  const type = at < 0 ? undefined : rawHeaders[at + 1];
  return type !== undefined && /^multipart\/form-data(?:;|$)/i.test(type) ? type : undefined;
}

function checkHeaders(headers: IncomingMessage["headers"], limit: number): void {
  const length = Number(headers["content-length"] ?? 0);
  if (length > limit) throw tooLarge(limit);
  if (headers["content-range"] === undefined) return;
  const message = "a body is sent whole; leave Content-Range out and send all of it";
  throw new MucastError("invalid_request", message, { path: "Content-Range" });
}

/** In the order in which a person reads it. */
function answerOf(prepared: Prepared, urlOf: (name: string) => string): PreparedBlobs {
  const { id, names, dates, start, end, learningEnd, written } = prepared;
  return {
    id,
    feature_url: urlOf(names.features),
    data_extractor_url: urlOf(names.prices),
    tickers: [...prepared.tickers],
    ticker_count: prepared.tickerCount,
    dates,
    start,
    end,
    learning_end: learningEnd ?? null,
    features: [...prepared.features],
    warnings: [...prepared.warnings],
    warning_count: prepared.warningCount,
    written,
  };
}

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

const BINARY = { type: "string", format: "binary" };
const FORM = {
  type: "object",
  properties: Object.fromEntries(PREPARE_PARTS.map((part) => [part, BINARY])),
  required: ["prices"],
};

function prepareDocs() {
  return {
    operationId: "prepare",
    summary: "Turn prices into both input blobs",
    description:
      "Takes prices like `mucast prepare`, as CSV (optionally gzipped) or Parquet, and stores two blobs for the caller: prices, and " +
      "features that are known at the close of their date. The body is the file of prices, or multipart/form-data with a file " +
      "`prices` and a table of further `features`. The same files and query give the same blobs. The response comes when both blobs " +
      "are stored, which takes seconds for a large file. If one blob cannot be stored, neither is. Repeat `tickers` for each ticker.",
    tags: ["Blobs"],
    querystring: prepareQuery,
    // The service reads the bytes whatever their Content-Type; generators of clients do not know text/csv.
    body: {
      content: { "application/octet-stream": { schema: BINARY }, "multipart/form-data": { schema: FORM } },
    },
    response: {
      200: jsonAnswer("Both blobs are stored.", preparedBlobsSchema, PREPARED),
      ...problemAnswers("write", [
        "unreadable_blob",
        "invalid_data",
        "too_large",
        "precondition_failed",
        "quota_exceeded",
        "storage_full",
        "storage_failed",
        "blob_unavailable",
        "timed_out",
        "process_lost",
      ]),
    },
  } as const;
}
