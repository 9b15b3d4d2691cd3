/** A program for tests: a child that does what its parent asks for. */
import { spawn } from "node:child_process";
import { writeSync } from "node:fs";
import { ParentChannel } from "./parent-channel.ts";

/** What a test asks for. */
export type Ask =
  /** To send each of the values. */
  | { readonly op: "send"; readonly values: readonly unknown[] }
  /** To print a text many times. */
  | { readonly op: "print"; readonly text: string; readonly times: number }
  /** To send many messages that may be lost in one turn of the event loop, and one more. */
  | { readonly op: "flood"; readonly messages: number }
  /** To start another process, send its pid, and block the main thread forever. */
  | { readonly op: "block" }
  | { readonly op: "exit" };

export interface Told {
  readonly value: unknown;
}

const parent = new ParentChannel<Ask, Told>({
  onMessage: (ask) => void obey(ask),
  onLost: (messages) => void parent.send({ value: `${messages} lost` }),
  onParentEnd: () => undefined,
});

async function obey(ask: Ask): Promise<void> {
  switch (ask.op) {
    case "send":
      for (const value of ask.values) void parent.send({ value });
      break;
    case "print":
      for (let i = 0; i < ask.times; i++) for (const descriptor of [1, 2]) print(descriptor, ask.text);
      break;
    case "flood":
      for (let i = 0; i < ask.messages; i++) void parent.send({ value: i }, { mayBeLost: true });
      await parent.send({ value: "end" });
      break;
    case "block": {
      const sleeper = spawn("sleep", ["1000"], { stdio: "ignore" });
      await parent.send({ value: sleeper.pid });
      for (;;);
    }
    case "exit":
      await parent.exit();
  }
}

/** Waits while the parent has not read the pipe. */
function print(descriptor: number, text: string): void {
  for (let rest = Buffer.from(text); rest.length > 0; ) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    }
  }
}
