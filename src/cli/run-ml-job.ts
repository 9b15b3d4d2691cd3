import type { Command } from "commander";
import { runMlJob } from "../jobs/ml/run-ml-job.ts";
import { addJobCommand } from "./job-command.ts";

export function addRunMlJob(program: Command): void {
  addJobCommand(program, {
    name: "run_ml_job",
    description: "train one regressor per ticker and write the output blob",
    exampleConfig: '{"ML params": {"model": "lightgbm", "intervals": {}}}',
    run: runMlJob,
  });
}
