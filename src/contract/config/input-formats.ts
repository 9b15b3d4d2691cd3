/** The formats of an input blob, by the extension of its name. A reader goes by the bytes. */
export const INPUT_FORMATS = ["json", "parquet"] as const;
export type InputFormat = (typeof INPUT_FORMATS)[number];

/** How prepare compresses Parquet, the default first. A reader reads more. */
export const COMPRESSIONS = ["snappy", "zstd"] as const;
export type Compression = (typeof COMPRESSIONS)[number];

/** Of dates such as 3/4/2020, with any separator. */
export const DATE_FORMATS = ["DD/MM/YYYY", "MM/DD/YYYY"] as const;
export type DateFormat = (typeof DATE_FORMATS)[number];
