import { readFileSync } from "node:fs";
import type { HttpApp } from "../server/http-app.ts";

/** Three folders up, both here and in the compiled package. */
const FOLDER = new URL("../../../../examples/tiny/data/", import.meta.url);

/** A pair of blobs of a few kilobytes: what the lines of curl upload that `serve` and `/docs` show. */
export const EXAMPLE_NAMES = ["feature_engine_tiny.json", "data_extractor_tiny.json"] as const;

/** `/examples/<name>`, open to anyone as the page is. */
export function exampleRoutes(app: HttpApp): void {
  for (const name of EXAMPLE_NAMES) {
    const bytes = readFileSync(new URL(name, FOLDER));
    app.route({
      method: "GET",
      url: `/examples/${name}`,
      config: { access: "anyone" },
      schema: { hide: true },
      handler: async (_request, reply) => reply.type("application/json").send(bytes),
    });
  }
}
