import { z } from "zod";
import { MucastError } from "../../contract/errors/errors.ts";
import { faultsOf, invalidRequest } from "../../contract/errors/faults.ts";
import { parseJson } from "../../contract/json/json-text.ts";
import { newKeySchema } from "../auth/key-store.ts";
import type { HttpApp, HttpOptions } from "./server/http-app.ts";
import { bodyText, readBodiesAsText } from "./server/request-bodies.ts";

const pageQuery = z.strictObject({ cursor: z.string().max(200).optional() });

/** `/admin/keys`, for `mucast keys`. It needs the scope `admin` and is not in the published API. */
export function keyRoutes(app: HttpApp, { keys }: Pick<HttpOptions, "keys">): void {
  readBodiesAsText(app);
  const config = { access: "admin" } as const;
  app.get("/admin/keys", { config, schema: { hide: true, querystring: pageQuery } }, async ({ query }) =>
    keys.page(query.cursor),
  );
  app.post("/admin/keys", { config, schema: { hide: true } }, async (request, reply) => {
    const { name, scopes } = newKey(bodyText(request));
    reply.code(201);
    return keys.create(name, scopes);
  });
  app.delete(
    "/admin/keys/:id",
    { config, schema: { hide: true, params: z.strictObject({ id: z.string() }) } },
    async ({ params }) => {
      const key = await keys.revoke(params.id);
      if (key !== undefined) return key;
      throw new MucastError("not_found", "there is no such key; `mucast keys list` shows them", {
        path: "id",
      });
    },
  );
}

function newKey(text: string): z.infer<typeof newKeySchema> {
  const plain = parseJson(text, "body");
  const checked = newKeySchema.safeParse(plain);
  if (checked.success) return checked.data;
  throw invalidRequest(faultsOf(checked.error, newKeySchema, "body", plain));
}
