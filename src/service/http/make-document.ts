import fastify from "fastify";
import { settingsSchema } from "../../contract/settings.ts";
import { addRoutes } from "./add-routes.ts";
import { checkInput } from "./check-input.ts";
import type { ZodTypes } from "./http-app.ts";
import type { HttpOptions } from "./http-options.ts";
import { documentRoutes, type OpenApiDocument } from "./openapi.ts";

/** What handlers would stand on, if one were called. */
const NOTHING = { settings: settingsSchema.parse({}) } as HttpOptions;

/** The OpenAPI document of the routes there are, without starting or opening anything. */
export async function makeDocument(): Promise<OpenApiDocument> {
  const app = fastify().withTypeProvider<ZodTypes>();
  app.setValidatorCompiler(checkInput);
  app.setSerializerCompiler(() => JSON.stringify);
  documentRoutes(app);
  addRoutes(app, NOTHING);
  await app.ready();
  const document = app.swagger() as unknown as OpenApiDocument;
  await app.close();
  return document;
}
