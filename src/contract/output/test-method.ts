import { z } from "zod";
import { mayGrow } from "../schema/open-schema.ts";

/** How the error of a mean over dates is estimated, which decides its quantile. */
const TEST_METHODS = ["ewc_8", "newey_west_5", "student"] as const;

export type TestMethod = (typeof TEST_METHODS)[number];

export const testMethodSchema = mayGrow(z.enum(TEST_METHODS).meta({ id: "TestMethod" }))
  .optional()
  .describe(
    "How the error of t is estimated: `ewc_8` by 8 cosine sums, from 60 dates on, with Student's quantile for 8 degrees of freedom; `newey_west_5` by Newey and West with lag 5 and the fixed-b quantile, with fewer dates and in outputs of 0.2.0, which lack this; `student` as the root of the sum of squares, with Student's quantile.",
  );
