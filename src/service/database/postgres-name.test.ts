import assert from "node:assert/strict";
import { test } from "node:test";
import { postgresName } from "./postgres.ts";

test("a PostgreSQL database is named by its database, host and port, without user, password and query", () => {
  const names: Record<string, string> = {
    "postgresql://ann:secret@db.example:6432/forecasts?sslmode=disable&application_name=x":
      "PostgreSQL database forecasts on db.example:6432",
    "postgres://ann:secret@db.example/forecasts": "PostgreSQL database forecasts on db.example:5432",
    "postgres://ann:secret@[::1]:6432/forecasts": "PostgreSQL database forecasts on [::1]:6432",
    "postgres://ann:secret@/forecasts?host=/run/postgresql":
      "PostgreSQL database forecasts on /run/postgresql:5432",
    "postgres://ann:secret@db.example/a%1bb": "PostgreSQL database a\\u001bb on db.example:5432",
  };
  for (const [url, name] of Object.entries(names)) assert.equal(postgresName(url), name, url);
});
