/** What no audit of two blobs can see, told with every verdict. */
export const BLIND_SPOTS: readonly string[] = [
  "What the maker of the blobs did before the first snapshot that is compared: a history that was rewritten earlier looks original.",
  "Who is in the list of tickers: a universe chosen by who survived looks like any other.",
  "A feature dated early whose content is honest at either date, such as a lagged return or a weekday.",
  "Levels of averages that reach into the future and are wide: from day to day they hardly move.",
  "What a job does among the rows that it learns from, such as in its folds: every cut comes after them.",
  "Whether a strong but honest feature and a weak leak differ: correlation alone cannot tell.",
];
