import { z } from "zod";

/** A number from 1 to `most`, or its decimal digits in a query. */
export function queryCount(most: number) {
  return z.preprocess(ofDigits, z.int().min(1).max(most));
}

function ofDigits(value: unknown): unknown {
  return typeof value === "string" && /^[0-9]+$/.test(value) ? Number(value) : value;
}
