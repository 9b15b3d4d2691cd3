import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** An answer whose first line was read and nothing else; its connection stays open. */
export interface UnreadAnswer {
  readonly status: number;
  readonly socket: Socket;
}

/** Sends a request on a new connection. */
export async function unreadAnswer(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<UnreadAnswer> {
  const socket = connect(port, "127.0.0.1");
  // The service gives up on a reader that reads nothing.
  socket.on("error", () => undefined);
  const lines = [`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  await once(socket, "readable");
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(String(socket.read("HTTP/1.1 200".length)))![1]);
  return { status, socket };
}

export function closeUnread(answers: readonly UnreadAnswer[]): void {
  for (const { socket } of answers) socket.destroy();
}
