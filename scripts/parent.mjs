/** A process outlives the one that has started it by about twice as much. */
export const MILLISECONDS_BETWEEN_LOOKS = 500;

/**
 * Calls `ended` once the process that has started this one is gone: this one has another parent then.
 * @param {() => void} ended
 * @returns {() => void} ends the watch
 */
export function whenParentEnds(ended) {
  const parent = process.ppid;
  let isWatching = true;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    // A signal that ended the parent may have reached this process too. Its handler may end the watch; on a busy machine it is late.
    setTimeout(() => {
      if (isWatching) ended();
    }, MILLISECONDS_BETWEEN_LOOKS).unref();
  }, MILLISECONDS_BETWEEN_LOOKS);
  timer.unref();
  return () => {
    isWatching = false;
    clearInterval(timer);
  };
}
