import { counted } from "../../contract/errors/wording.ts";
import type { ChangedSlots } from "./protocol.ts";

/** Maximum number of lines per job; a cluster whose nodes come and go all day would fill a log. */
const MAX_LINES = 200;
/** The number of nodes that a line names. */
const MAX_NAMED = 5;

/** The lines about a cluster in a job's log: nodes that come and go, tasks that wait or are lost. */
export class ClusterNotices {
  readonly #write: (line: string) => void;
  #lines = 0;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  say(line: string): void {
    this.#lines++;
    if (this.#lines <= MAX_LINES) this.#write(line);
    else if (this.#lines === MAX_LINES + 1) this.#write("more that the cluster tells is not logged");
  }

  /** Reports nodes that have come or gone. */
  changed({ slots, added, lost }: ChangedSlots): void {
    const parts = [
      ...named("came", added),
      ...named(
        "lost",
        lost.map(({ name, reason }) => (reason === "" ? name : `${name} (${reason})`)),
      ),
    ];
    if (parts.length > 0)
      this.say(`the cluster runs ${counted(slots, "task")} at a time now: ${parts.join(", ")}`);
  }
}

function named(what: string, nodes: readonly string[]): string[] {
  if (nodes.length === 0) return [];
  const more = nodes.length - MAX_NAMED;
  const names = `${nodes.slice(0, MAX_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return [`${what} ${names}`];
}
