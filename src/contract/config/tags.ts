import { z } from "zod";

/** The largest number of tags, and of characters in a tag. */
export const TAG_LIMITS = { tags: 16, characters: 64 } as const;

/** A label of the caller's choice. */
export const tagSchema = z
  .string()
  .regex(
    /^[!-~](?:[ -~]{0,62}[!-~])?$/,
    `must be 1 to ${TAG_LIMITS.characters} printable ASCII characters without a space at either end`,
  );

/** Different tags. */
export const tagsSchema = z
  .array(tagSchema)
  .max(TAG_LIMITS.tags)
  .check(({ value, issues }) => {
    for (const [i, tag] of value.entries()) {
      if (value.indexOf(tag) < i)
        issues.push({ code: "custom", path: [i], message: "must not appear twice", input: tag });
    }
  })
  .meta({ uniqueItems: true })
  .describe(
    `Labels to find and group runs by: at most ${TAG_LIMITS.tags} different ones of 1 to ${TAG_LIMITS.characters} printable ASCII characters. They change no number.`,
  );
