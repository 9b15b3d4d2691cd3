/** Blobs that cannot be read, in every layout, with what is said about them: test/cases/blobs/refused.json. `␠` is 2 MiB of space. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { MucastError } from "../contract/errors/errors.ts";
import { cut, sourceOf } from "./chunks.testing.ts";
import type { BlobKind } from "./field-names.ts";
import { readFeatures } from "./read-blob.ts";
import { readPrices } from "./read-prices.ts";

type Refused = { readonly text: string; readonly says: string; readonly ticker?: string };
const path = fileURLToPath(new URL("../../test/cases/blobs/refused.json", import.meta.url));
const REFUSED: Readonly<Record<BlobKind, readonly Refused[]>> = JSON.parse(readFileSync(path, "utf8"));

async function readAll(...blob: Parameters<typeof readFeatures>): Promise<void> {
  for await (const _ of readFeatures(...blob));
}

for (const [kind, cases] of Object.entries(REFUSED))
  describe(`a blob of ${kind} is refused`, () => {
    for (const { text, says, ticker } of cases)
      it(`${text}: ${says}`, async () => {
        const bytes = Buffer.from(text.replace("␠", " ".repeat(2 ** 21)));
        const [source, options] = [sourceOf(cut(bytes, [5])), { workFolder: "/nowhere" }];
        const error = await (kind === "prices"
          ? readPrices(source, options)
          : readAll(source, options)
        ).catch((error: unknown) => error);
        assert.ok(error instanceof MucastError, "it was read");
        assert.deepEqual(
          [error.code, error.message, error.data.source, error.data.ticker],
          ["invalid_data", `blob.json: ${says}`, "blob.json", ticker],
        );
      });
  });
