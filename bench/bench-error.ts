/** An error that stops a bench and that one line explains, such as invalid arguments; printed without a stack trace. */
export class BenchError extends Error {
  override readonly name = "BenchError";
}
