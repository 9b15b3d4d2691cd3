import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import { ROUTE_GROUPS } from "./build-http.ts";

test("every file of routes is a group that the service adds", () => {
  const files = globSync("**/*-routes.ts", { cwd: import.meta.dirname });
  const found = files.map((file) => basename(file).replace("-routes.ts", ""));
  assert.deepEqual(found.sort(), Object.keys(ROUTE_GROUPS).sort(), "ROUTE_GROUPS in build-http.ts");
});
