import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MucastError } from "../errors/errors.ts";
import { TAG_LIMITS } from "./limits.ts";
import { parsePayload } from "./payload.ts";

const payload = (tags: unknown) =>
  JSON.stringify({
    feature_url: "https://a.example/c/data/feature_engine_1.json",
    data_extractor_url: "https://a.example/c/data/data_extractor_1.json",
    config: { "ML params": { model: "ridge" } },
    tags,
  });

function refusal(tags: unknown): MucastError {
  try {
    parsePayload("run_ml_job", payload(tags));
  } catch (error) {
    if (error instanceof MucastError) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: "the payload was accepted" });
}

const LONGEST = "x".repeat(TAG_LIMITS.characters);
const MOST = Array.from({ length: TAG_LIMITS.tags }, (_, i) => `tag ${i}`);

describe("tags", () => {
  it("keep their order and every printable character", () => {
    for (const tags of [[], ["b", "a"], ["<b>'&\"/\\,:=~"], ["two words"], [LONGEST], MOST]) {
      assert.deepEqual(parsePayload("run_ml_job", payload(tags)).options, { tags });
    }
  });

  it("are refused with the path and the value", () => {
    const printable = "must be 1 to 64 printable ASCII characters without a space at either end";
    for (const [tags, message] of [
      ["a", 'tags: must be an array, got "a"'],
      [[1], "tags[0]: must be a string, got 1"],
      [["a", ""], `tags[1]: ${printable}, got ""`],
      [[" a"], `tags[0]: ${printable}, got " a"`],
      [["a\n"], `tags[0]: ${printable}, got "a\\n"`],
      [["\u202ea"], `tags[0]: ${printable}, got "\\u202ea"`],
      [["é"], `tags[0]: ${printable}, got "é"`],
      [[`${LONGEST}x`], `tags[0]: ${printable}, got ${JSON.stringify(`${LONGEST}x`)}`],
      [["a", "b", "a"], 'tags[2]: must not appear twice, got "a"'],
      [[...MOST, "more"], /^tags: must be a list of length <= 16, got /],
    ] as const) {
      const { code, message: given } = refusal(tags);
      assert.equal(code, "invalid_request");
      if (typeof message === "string") assert.equal(given, message);
      else assert.match(given, message);
    }
  });
});
