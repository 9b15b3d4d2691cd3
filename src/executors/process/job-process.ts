/** The process of jobs, one after the other. The service starts it; everything that it prints goes to the service's log. */
import { withoutSignature } from "../../blob/policy.ts";
import { ParentChannel } from "../../processes/parent-channel.ts";
import { JobRuns } from "./job-runs.ts";
import type { FromJob, ToJob } from "./messages.ts";

const service = new ParentChannel<ToJob, FromJob>({
  onMessage: (message) => runs.receive(message),
  onLost: (lines) =>
    void service.send({
      event: "log",
      line: `${lines} more lines were dropped because the service did not read them in time`,
    }),
  onParentEnd: () => runs.stopWithService(),
});
const runs = new JobRuns((message) => {
  // Any text of a message may quote the URL of a blob.
  const shown: FromJob = JSON.parse(withoutSignature(JSON.stringify(message)));
  return service.send(shown, { mayBeLost: message.event === "log" });
});

await runs.ended;
await service.exit();
