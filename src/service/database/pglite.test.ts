import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { MucastError } from "../../contract/errors.ts";
import { openPglite } from "./pglite.ts";

const folder = mkdtempSync(join(tmpdir(), "mucast-pglite-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("a folder that holds no database any more is not made a new one", async () => {
  const emptied = join(folder, "database");
  mkdirSync(emptied);
  await assert.rejects(
    openPglite(emptied),
    (error) =>
      error instanceof MucastError && error.code === "unavailable" && error.message.includes(emptied),
  );
});
