/** Tries of one delivery, the first one among them; with the delays between them about 23 hours. */
export const MOST_TRIES = 12;

const FIRST_SECONDS = 5;
const GROWTH = 3;
const LONGEST_SECONDS = 6 * 3_600;
const JITTER = 0.2;

/**
 * How long to wait after the `tries`-th try has failed, seconds: 5, 15, 45, … up to 6 hours, each up to a fifth longer
 * or shorter, so that what failed together does not come back together.
 * @param random from 0 to 1.
 */
export function retryDelay(tries: number, random = Math.random()): number {
  const seconds = Math.min(LONGEST_SECONDS, FIRST_SECONDS * GROWTH ** (tries - 1));
  return seconds * (1 - JITTER + 2 * JITTER * random);
}
