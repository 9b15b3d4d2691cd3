/** A process outlives its starter by up to about twice this time. */
export const MILLISECONDS_BETWEEN_LOOKS = 500;

/**
 * Calls `ended` once the process that started this one is gone: this one then has another parent.
 * @param {() => void} ended
 * void} ends the watch => @returns {() => void} ends the watch => void} ends the watch
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
