import type { Command } from "commander";
import { runDlJob } from "../jobs/dl/run-dl-job.ts";
import { addJobCommand } from "./job-command.ts";

export function addRunDlJob(program: Command): void {
  addJobCommand(program, {
    name: "run_dl_job",
    description: "train neural networks, one per ticker or one for all, and write the output blob",
    exampleConfig: '{"NN params": {"Dot prediction": {"current option": "lstm", "intervals": {}}}}',
    run: runDlJob,
  });
}
