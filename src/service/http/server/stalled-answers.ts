import type { Socket } from "node:net";

/** A reader who takes fewer bytes than these within the time limit has stalled. */
const MIN_BYTES = 64 * 2 ** 10;
/** Unsent bytes of all answers together. */
const MAX_UNSENT_BYTES = 128 * 2 ** 20;
const STALL_MILLISECONDS = 60_000;
/** Looks at the connections within the time limit. */
const LOOKS = 12;

export interface StallLimits {
  /** Milliseconds in which a reader must take 64 KiB of an answer, if so much is left; 60 s by default. */
  readonly stallMilliseconds?: number | undefined;
  /** 128 MiB by default. */
  readonly unsentBytes?: number | undefined;
}

interface Progress {
  /** Bytes that the connection had sent at that time. */
  sent: number;
  at: number;
}

/**
 * The connections whose answer has not ended, and how their readers get on. Closes a connection whose reader takes fewer than
 * 64 KiB in 60 s while something is left to send, and, where the unsent bytes of all answers exceed their limit, those that have
 * stalled longest.
 */
export class StalledAnswers {
  readonly #milliseconds: number;
  readonly #unsentBytes: number;
  readonly #now: () => number;
  readonly #answering = new Map<Socket, Progress>();
  /** Connections that had stalled at the last look, the longest stalled last. */
  #stalled: Socket[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(limits: StallLimits, now: () => number = () => performance.now()) {
    this.#milliseconds = limits.stallMilliseconds ?? STALL_MILLISECONDS;
    this.#unsentBytes = limits.unsentBytes ?? MAX_UNSENT_BYTES;
    this.#now = now;
    this.#timer = setInterval(() => this.look(), this.#milliseconds / LOOKS).unref();
  }

  add(socket: Socket): void {
    if (!this.#answering.has(socket)) this.#answering.set(socket, this.#progressOf(socket));
  }

  remove(socket: Socket): void {
    this.#answering.delete(socket);
  }

  /** Call it when the whole answer of a connection has been written: it may be too much. */
  wrote(socket: Socket): void {
    if (socket.writableLength > MIN_BYTES) this.look();
  }

  /** Closes one connection, to make room for another. @returns whether one had stalled. */
  closeLongest(): boolean {
    for (let socket = this.#stalled.pop(); socket !== undefined; socket = this.#stalled.pop()) {
      const then = this.#answering.get(socket);
      if (then === undefined || this.#hasProgress(socket, then)) continue;
      this.#close(socket);
      return true;
    }
    return false;
  }

  /** Looks at all connections now. A timer does it every 5 s, too. */
  look(): void {
    const now = this.#now();
    const waiting: [Socket, number][] = [];
    let unsent = 0;
    for (const [socket, then] of this.#answering) {
      if (this.#hasProgress(socket, then)) Object.assign(then, this.#progressOf(socket));
      if (now - then.at >= this.#milliseconds) this.#close(socket);
      else if (socket.writableLength > 0) waiting.push([socket, then.at]);
      unsent += socket.destroyed ? 0 : socket.writableLength;
    }
    waiting.sort(([, one], [, other]) => other - one);
    while (unsent > this.#unsentBytes) {
      const [socket] = waiting.pop()!;
      unsent -= socket.writableLength;
      this.#close(socket);
    }
    const since = now - this.#milliseconds / LOOKS;
    this.#stalled = waiting.filter(([, at]) => at <= since).map(([socket]) => socket);
  }

  /** Ends the timer. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #close(socket: Socket): void {
    this.#answering.delete(socket);
    socket.destroy();
  }

  #hasProgress(socket: Socket, then: Progress): boolean {
    return socket.writableLength === 0 || sentBytes(socket) - then.sent >= MIN_BYTES;
  }

  #progressOf(socket: Socket): Progress {
    return { sent: sentBytes(socket), at: this.#now() };
  }
}

/** What Node keeps of a connection, to tell its own timeout whether a large write goes on. */
interface SocketHandle {
  /** Bytes written, whether sent or not. */
  readonly bytesWritten: number;
  /** Bytes written and not sent. */
  readonly writeQueueSize: number;
}

/** The bytes that the system has taken of all that was written. `bytesWritten` of a socket counts what waits, too. */
function sentBytes(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { readonly _handle?: SocketHandle | null };
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}
