import { Transform, type TransformCallback } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { MucastError } from "../../contract/errors.ts";
import { withConfigTexts } from "./config-texts.ts";

/** As much of a line as the SDK's own transport takes. */
const LONGEST_LINE = 10 * 2 ** 20;

/** Messages of MCP over stdio, one a line, in which the config of a tool call has become its own JSON text. */
export class ConfigTextLines extends Transform {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";

  override _transform(bytes: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const lines = (this.#rest + this.#decoder.write(bytes)).split("\n");
    this.#rest = lines.pop()!;
    for (const line of lines) this.push(`${rewritten(line)}\n`);
    done(this.#rest.length > LONGEST_LINE ? tooLong() : null);
  }

  override _flush(done: TransformCallback): void {
    done(null, this.#rest);
  }
}

function tooLong(): MucastError {
  return new MucastError(
    "too_large",
    "a message is longer than 10 MB; put large data where a URL can name it",
  );
}

/** What is not JSON the transport itself tells of. */
function rewritten(line: string): string {
  try {
    return JSON.stringify(withConfigTexts(line));
  } catch (error) {
    if (error instanceof SyntaxError) return line;
    throw error;
  }
}
