import type { Socket } from "node:net";
import { addressKey } from "./address-key.ts";

/** A reader who reads fewer bytes than this within the time limit has stalled. */
const MIN_BYTES = 64 * 2 ** 10;
/** Unsent bytes of all answers together. */
const MAX_UNSENT_BYTES = 128 * 2 ** 20;
/** The system takes megabytes ahead of a slow reader, and no more until a third of them is read: a steady one seems to stall for minutes. */
const STALL_MILLISECONDS = 300_000;
/** Looks at the connections within the time limit. */
const LOOKS = 60;

export interface StallLimits {
  /** Milliseconds in which a reader must take 64 KiB of an answer, if so much is left; 5 minutes by default. */
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
 * The connections whose answer has not ended, and the progress of their readers. Closes a connection whose reader takes fewer than
 * 64 KiB in 5 minutes while something is left to send. If the unsent bytes of all answers exceed their limit, it closes connections of the
 * address that has the most of them: first those without progress since the last look, then the largest.
 */
export class StalledAnswers {
  readonly #milliseconds: number;
  readonly #unsentBytes: number;
  readonly #answering = new Map<Socket, Progress>();
  readonly #timer: NodeJS.Timeout;

  constructor(limits: StallLimits) {
    this.#milliseconds = limits.stallMilliseconds ?? STALL_MILLISECONDS;
    this.#unsentBytes = limits.unsentBytes ?? MAX_UNSENT_BYTES;
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

  /** Checks all connections now. A timer also does so every 5 s. */
  look(): void {
    const now = performance.now();
    const waiting: Waiting[] = [];
    let unsent = 0;
    for (const [socket, then] of this.#answering) {
      if (this.#hasProgress(socket, then)) Object.assign(then, this.#progressOf(socket));
      if (now - then.at >= this.#milliseconds) this.#close(socket);
      else if (socket.writableLength > 0) {
        waiting.push({
          socket,
          at: then.at,
          bytes: socket.writableLength,
          address: addressKey(socket.remoteAddress),
        });
      }
      unsent += socket.destroyed ? 0 : socket.writableLength;
    }
    const since = now - this.#milliseconds / LOOKS;
    if (unsent > this.#unsentBytes) this.#shed(waiting, unsent, since);
  }

  /**
   * Closes connections until the unsent bytes of all answers are within their limit. One address's flood costs no other a download.
   * @param since progress before it counts as none.
   */
  #shed(waiting: readonly Waiting[], all: number, since: number): void {
    let unsent = all;
    const sums = sumsOf(waiting, ({ bytes }) => bytes);
    const byAddress = Map.groupBy(
      waiting.toSorted(
        (a, b) => Number(a.at <= since) - Number(b.at <= since) || a.bytes - b.bytes || b.at - a.at,
      ),
      ({ address }) => address,
    );
    while (unsent > this.#unsentBytes && sums.size > 0) {
      const [address, sum] = [...sums].reduce((most, next) => (next[1] > most[1] ? next : most));
      const next = byAddress.get(address)!.pop();
      if (next === undefined) sums.delete(address);
      else {
        sums.set(address, sum - next.bytes);
        unsent -= next.bytes;
        this.#close(next.socket);
      }
    }
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
    return { sent: sentBytes(socket), at: performance.now() };
  }
}

/** A connection with unsent bytes. */
interface Waiting {
  readonly socket: Socket;
  /** Of its last progress. */
  readonly at: number;
  readonly bytes: number;
  readonly address: string;
}

/** Sums by address. */
function sumsOf(waiting: readonly Waiting[], amount: (one: Waiting) => number): Map<string, number> {
  const sums = new Map<string, number>();
  for (const one of waiting) sums.set(one.address, (sums.get(one.address) ?? 0) + amount(one));
  return sums;
}

/** What Node keeps of a connection, so that its own timeout knows whether a large write continues. */
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
