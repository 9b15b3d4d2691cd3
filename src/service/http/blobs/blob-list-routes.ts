import {
  type BlobPage,
  blobListQuery,
  blobPageSchema,
  type StoredBlobView,
} from "../../../contract/api/blob-page.ts";
import { EXAMPLE_BLOBS } from "../openapi/examples.ts";
import { jsonAnswer, problemAnswers } from "../openapi/route-docs.ts";
import { blobBase, type HttpApp, type HttpOptions } from "../server/http-app.ts";

const CONTENTS = { ticker_count: 500, dates: 1510, start: "2020-01-02", end: "2026-01-05" };

/** The example of a list: the blobs of a preparation, and an output. */
const PAGE: BlobPage = {
  blobs: [
    example("ml_engine_5f0c2d1e", "output", 812_345),
    { ...example("feature_engine_4f0c1a2b", "features", 96_104_233), ...CONTENTS },
    { ...example("data_extractor_4f0c1a2b", "prices", 14_903_118), ...CONTENTS },
  ],
  next_cursor: null,
};

function example(stem: string, kind: StoredBlobView["kind"], size: number): StoredBlobView {
  const name = `${stem}.json`;
  return { name, url: `${EXAMPLE_BLOBS}/data/${name}`, kind, size, created_at: "2026-01-05T08:30:09.038Z" };
}

/** `GET /v1/data`. */
export function blobListRoutes(app: HttpApp, { settings, blobs }: HttpOptions): void {
  app.route({
    method: "GET",
    url: "/v1/data",
    config: { access: "read" },
    schema: {
      operationId: "list_blobs",
      summary: "List blobs, newest first",
      description:
        "Returns the caller's own blobs, one page at a time, optionally of one kind: inputs that were uploaded or prepared, and the " +
        "outputs of operations that succeeded.",
      tags: ["Blobs"],
      querystring: blobListQuery,
      response: {
        200: jsonAnswer("A page of blobs.", blobPageSchema, PAGE),
        ...problemAnswers("read"),
      },
    },
    handler: async (request): Promise<BlobPage> => {
      const { blobs: listed, cursor } = await blobs.list(request.caller!, request.query);
      const views = listed.map(
        ({ name, kind, bytes, createdAt, contents, store }): StoredBlobView => ({
          name,
          url: `${blobBase(settings, store, request)}/data/${name}`,
          kind,
          size: bytes,
          created_at: createdAt.toISOString(),
          ...contents,
        }),
      );
      return { blobs: views, next_cursor: cursor ?? null };
    },
  });
}
