/** Turns that follow a piece of work. */
const FREE_TURNS = 32;
/** Turns that take long are fewer: other requests have had their time, too. */
const MAX_MILLISECONDS = 20;

/**
 * Calls back after some turns of the event loop, without work of the caller's in between. The loop accepts one new connection
 * in each turn: without them, a thousand requests that take it 30 ms each would keep a new connection waiting for half a minute.
 */
export function afterFreeTurns(next: () => void): void {
  const end = performance.now() + MAX_MILLISECONDS;
  let turns = 0;
  const turn = () => {
    turns += 1;
    if (turns >= FREE_TURNS || performance.now() >= end) next();
    else setImmediate(turn);
  };
  setImmediate(turn);
}
