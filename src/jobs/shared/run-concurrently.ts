/**
 * Runs each task that `body` starts, all at the same time. The first fault, of a task or of `body`, aborts the others, and is thrown once
 * no task is running.
 * @returns the results, in the order in which the tasks were started.
 */
export async function runEach<T>(
  signal: AbortSignal,
  body: (start: (task: Promise<T>) => void, signal: AbortSignal) => Promise<void>,
): Promise<T[]> {
  const fault = new AbortController();
  const running: Promise<T>[] = [];
  const start = (task: Promise<T>) => {
    running.push(task);
    task.catch((error: unknown) => fault.abort(error));
  };
  try {
    await body(start, AbortSignal.any([signal, fault.signal]));
    return await Promise.all(running);
  } catch (error) {
    fault.abort(error);
    // An error of `body` that a failed task caused would hide the reason.
    throw fault.signal.reason;
  } finally {
    await Promise.allSettled(running);
  }
}
