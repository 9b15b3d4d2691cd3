import { blobRoutes } from "./blob-routes.ts";
import { eventRoutes } from "./event-routes.ts";
import { exampleRoutes } from "./example-routes.ts";
import { healthRoutes } from "./health-routes.ts";
import type { HttpApp } from "./http-app.ts";
import type { HttpOptions } from "./http-options.ts";
import { jobRoutes } from "./job-routes.ts";
import { keyRoutes } from "./key-routes.ts";
import { operationRoutes } from "./operation-routes.ts";
import { pageRoutes } from "./page-routes.ts";

/** Each group in a context of its own, since they take bodies in different ways. */
export function addRoutes(app: HttpApp, options: HttpOptions): void {
  const closing = new AbortController();
  // Streams and waits would keep the connections open that closing waits for.
  app.addHook("preClose", async () => closing.abort());
  const groups = [
    jobRoutes,
    operationRoutes,
    eventRoutes,
    blobRoutes,
    healthRoutes,
    keyRoutes,
    pageRoutes,
    exampleRoutes,
  ];
  for (const routes of groups) {
    void app.register(async (group) => routes(group as HttpApp, options, closing.signal));
  }
}
