import type { Operation } from "../../contract/api/operation-view.ts";
import { dlConfigSchema } from "../../contract/config/dl-config.ts";
import { mlConfigSchema } from "../../contract/config/ml-config.ts";
import { payloadSchema } from "../../contract/config/payload.ts";

/** What each job takes, with the config that is its own. */
export const JOB_PAYLOADS = {
  run_ml_job: payloadSchema
    .extend({ config: mlConfigSchema })
    .meta({ id: "MlPayload", title: "Payload of run_ml_job" }),
  run_dl_job: payloadSchema
    .extend({ config: dlConfigSchema })
    .meta({ id: "DlPayload", title: "Payload of run_dl_job" }),
} as const satisfies Record<Operation, unknown>;
