/** The two jobs, by the names of their operations. */
export const JOB_OPERATIONS = ["run_ml_job", "run_dl_job"] as const;
export type Operation = (typeof JOB_OPERATIONS)[number];
