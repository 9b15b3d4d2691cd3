import type { MucastClient, OperationView, SubmitOptions } from "../../../client/index.ts";
import type { SubmittedOperation } from "../../../contract/config/job-operations.ts";

type Submit = (client: MucastClient, text: string, options: SubmitOptions) => Promise<OperationView>;

const SUBMITS: Readonly<Record<SubmittedOperation, Submit>> = {
  run_ml_job: (client, text, options) => client.runMlJob(text, options),
  run_dl_job: (client, text, options) => client.runDlJob(text, options),
  audit: (client, text, options) => client.audit(text, options),
  replay: (client, text, options) => client.replay(text, options),
};

/** Submits the JSON text of a payload unchanged. @throws what the client throws. */
export function submitPayload(
  client: MucastClient,
  operation: SubmittedOperation,
  text: string,
  options: SubmitOptions,
): Promise<OperationView> {
  return SUBMITS[operation](client, text, options);
}
