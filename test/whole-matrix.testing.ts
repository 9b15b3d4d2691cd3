/**
 * Whether a test runs all its cases, as in the release tier, or only those that `npm test` has time for: one of each kind.
 * `MUCAST_TEST_MATRIX=whole` sets it for a file that is run alone.
 */
export const WHOLE_MATRIX = process.env.MUCAST_TEST_MATRIX === "whole";

/** Options of a test or a suite that only the release tier runs. */
export const IN_RELEASE_TIER = { skip: !WHOLE_MATRIX && "a case of the release tier" };
