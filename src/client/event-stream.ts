/** A message of a server-sent event stream. */
interface SentEvent {
  readonly id: string | undefined;
  readonly data: string;
}

type SentLine = SentEvent | { readonly retry: number };

/**
 * The messages of a body of `text/event-stream`, and the `retry:` that the server asks for, in milliseconds.
 *
 * @param onBytes called for every part that arrives, comments too.
 */
export async function* sentEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<SentLine, void> {
  let id: string | undefined;
  let data: string[] = [];
  for await (const line of linesOf(body, onBytes)) {
    if (line === "") {
      if (data.length > 0) yield { id, data: data.join("\n") };
      data = [];
      continue;
    }
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (field === "data") data.push(value ?? "");
    else if (field === "id") id = value ?? "";
    else if (field === "retry" && /^\d+$/.test(value ?? "")) yield { retry: Number(value) };
  }
}

async function* linesOf(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  let endsWithReturn = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      // An event that is cut off is not one: the next connection brings it again.
      if (done) return;
      onBytes();
      const text = decoder.decode(value, { stream: true });
      if (text === "") continue;
      // The second half of a line end whose first half has come before.
      const lines = (rest + (endsWithReturn ? text.replace(/^\n/, "") : text)).split(/\r\n|\n|\r/);
      endsWithReturn = text.endsWith("\r");
      rest = lines.pop()!;
      yield* lines;
    }
  } finally {
    // A broken stream has nothing to cancel; read() has thrown its error, or the caller reads no further.
    await reader.cancel().catch(() => undefined);
  }
}

/** Aborts its signal once nothing has been heard for a time; the time does not pass while it is paused. */
export class SilenceWatch {
  readonly #milliseconds: number;
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hasHeard = false;

  constructor(milliseconds: number) {
    this.#milliseconds = milliseconds;
    this.resume();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get hasHeard(): boolean {
    return this.#hasHeard;
  }

  /** Whether the time is over without anything having been heard. */
  get isMute(): boolean {
    return this.#controller.signal.aborted && !this.#hasHeard;
  }

  readonly heard = (): void => {
    this.#hasHeard = true;
    this.resume();
  };

  pause(): void {
    clearTimeout(this.#timer);
  }

  /** From the beginning of the time. */
  resume(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#controller.abort(new TypeError(`nothing was heard for ${this.#milliseconds / 1_000} s`));
    }, this.#milliseconds);
  }
}
