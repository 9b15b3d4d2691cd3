/** The largest number of tags, and of characters in a tag. */
export const TAG_LIMITS = { tags: 16, characters: 64 } as const;

/** A whole tag, as a regular expression: printable ASCII characters without a space at either end. */
export const TAG_PATTERN = "[!-~](?:[ -~]{0,62}[!-~])?";
