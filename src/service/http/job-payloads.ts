import { dlConfigSchema } from "../../contract/dl-config.ts";
import { mlConfigSchema } from "../../contract/ml-config.ts";
import type { Operation } from "../../contract/operation-view.ts";
import { payloadSchema } from "../../contract/payload.ts";

/** What each job takes, with the config that is its own. */
export const JOB_PAYLOADS = {
  run_ml_job: payloadSchema
    .extend({ config: mlConfigSchema })
    .meta({ id: "MlPayload", title: "Payload of run_ml_job" }),
  run_dl_job: payloadSchema
    .extend({ config: dlConfigSchema })
    .meta({ id: "DlPayload", title: "Payload of run_dl_job" }),
} as const satisfies Record<Operation, unknown>;
