/** A program for tests: a child that does what its parent asks for. */
import { spawn } from "node:child_process";
import { openParentChannel } from "./parent-channel.ts";

/** What a test sends. */
export type ToChild =
  /** To send each of the values. */
  | { readonly op: "send"; readonly values: readonly unknown[] }
  /** To print a text many times. */
  | { readonly op: "print"; readonly text: string; readonly times: number }
  /** To start another process, send its pid, and block the main thread forever. */
  | { readonly op: "block" }
  | { readonly op: "exit" };

export interface FromChild {
  readonly value: unknown;
}

const parent = openParentChannel<ToChild, FromChild>(async (message) => {
  switch (message.op) {
    case "send":
      for (const value of message.values) void parent.send({ value });
      break;
    case "print":
      for (let i = 0; i < message.times; i++)
        for (const stream of [process.stdout, process.stderr]) stream.write(message.text);
      break;
    case "block": {
      const sleeper = spawn("sleep", ["1000"], { stdio: "ignore" });
      await parent.send({ value: sleeper.pid });
      for (;;);
    }
    case "exit":
      await parent.exit();
  }
});
