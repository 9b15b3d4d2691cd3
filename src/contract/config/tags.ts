import { z } from "zod";
import { distinctEntries } from "./distinct-entries.ts";
import { TAG_LIMITS, TAG_PATTERN } from "./tag-limits.ts";

/** A label of the caller's choice. */
export const tagSchema = z
  .string()
  .regex(
    new RegExp(`^${TAG_PATTERN}$`),
    `must be 1 to ${TAG_LIMITS.characters} printable ASCII characters without a space at either end`,
  );

export const tagsSchema = z
  .array(tagSchema)
  .max(TAG_LIMITS.tags)
  .check(distinctEntries)
  .meta({ uniqueItems: true })
  .describe(
    `Labels to find and group runs by: at most ${TAG_LIMITS.tags} different ones of 1 to ${TAG_LIMITS.characters} printable ASCII characters. They change no number.`,
  );
