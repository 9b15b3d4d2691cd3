/** What stops a bench and one line explains, such as bad arguments; printed without a stack trace. */
export class BenchError extends Error {
  override readonly name = "BenchError";
}
