import { existsSync } from "node:fs";
import type { ContainerClient } from "@azure/storage-blob";
import type { OperationView } from "../../src/contract/api/operation-view.ts";
import { Api, collect, type WireEvent } from "../service/api.testing.ts";
import { attemptsIn, begun, type Fleet, inProgress } from "./fleet.ts";

/** The end of a job, as its caller sees it. */
interface EndedJob {
  readonly operation: OperationView;
  readonly events: readonly WireEvent[];
}

export interface Outcome {
  readonly jobs: readonly EndedJob[];
  /** Names in the storage. */
  readonly outputs: readonly string[];
  /** Ids of the jobs that were started more than once. */
  readonly again: readonly string[];
  /** Seconds from the first start of each of them to the next. */
  readonly againAfter: readonly number[];
  /** By the name of its service: the attempts that it started, `<operation> <attempt>`, and those that it left unfinished. */
  readonly begun: ReadonlyMap<string, readonly string[]>;
  readonly left: ReadonlyMap<string, readonly string[]>;
  /** Names of services that have written to their data folder, which a pod does not have. */
  readonly written: readonly string[];
  /** Names of services whose /metrics count other attempts than their log. */
  readonly miscounted: readonly string[];
}

export async function readOutcome(
  fleet: Fleet,
  ids: readonly string[],
  container: ContainerClient,
): Promise<Outcome> {
  const api = new Api(fleet.urls.at(-1)!);
  const jobs: EndedJob[] = [];
  for (const id of ids)
    jobs.push({ operation: await api.get(id), events: await collect(await api.events(id)) });
  const outputs: string[] = [];
  for await (const { name } of container.listBlobsFlat({ prefix: "data/ml_engine_" })) outputs.push(name);
  const again = jobs.filter(({ events }) => starts(events).length > 1);
  const miscounted: string[] = [];
  for (const { name, serving, isGone } of fleet.members)
    if (!isGone && (await attemptsIn(serving)) !== begun(serving).length) miscounted.push(name);
  const attempts = (of: typeof begun) =>
    new Map(
      fleet.members.map(({ name, serving }) => [
        name,
        of(serving).map(({ operation_id, attempt }) => `${operation_id} ${attempt}`),
      ]),
    );
  return {
    jobs,
    outputs,
    again: again.map(({ operation }) => operation.id),
    againAfter: again.map(({ events }) => secondsBetween(starts(events))),
    begun: attempts(begun),
    left: attempts(inProgress),
    written: fleet.members.filter(({ serving }) => existsSync(serving.dataDir)).map(({ name }) => name),
    miscounted,
  };
}

function starts(events: readonly WireEvent[]): readonly WireEvent[] {
  return events.filter(({ type }) => type === "started");
}

function secondsBetween([first, second]: readonly WireEvent[]): number {
  const timeOf = (event?: WireEvent) => Date.parse((event!.data as { time: string }).time);
  return (timeOf(second) - timeOf(first)) / 1_000;
}

/** What was lost, run twice or not shared; the services are in the order of their starts, and the first was killed. */
export function faultsOf(outcome: Outcome, ids: readonly string[]): string[] {
  const { jobs, outputs, again, miscounted } = outcome;
  const faults: string[] = [];
  const wanted = ids.map((id) => `data/ml_engine_${id}.json`);
  if (new Set(ids).size !== ids.length) faults.push("two keys gave one operation");
  if (outputs.toSorted().join() !== wanted.toSorted().join())
    faults.push(`${outputs.length} outputs are in the storage for ${ids.length} jobs, or others`);
  for (const { operation, events } of jobs) {
    const { id, status, result } = operation;
    if (status !== "Succeeded") faults.push(`${id}: ${status} ${JSON.stringify(operation.error)}`);
    if (result?.output_name !== `ml_engine_${id}.json`) faults.push(`${id} names ${result?.output_name}`);
    const ends = events.filter(({ type }) => ["succeeded", "failed", "canceled"].includes(type));
    if (ends.length !== 1) faults.push(`${id} ended ${ends.length} times`);
  }
  const [killed, ...others] = [...outcome.left.values()];
  const lost = new Set(killed!.map((attempt) => attempt.split(" ")[0]!));
  for (const id of again) if (!lost.has(id)) faults.push(`${id} was started again, and no service was lost`);
  if (lost.size !== 1) faults.push(`the killed service had ${lost.size} jobs in progress and not one`);
  if (others.flat().length > 0) faults.push(`services that were not killed left ${others.flat().join()}`);
  const allStarted = [...outcome.begun.values()].flat();
  if (new Set(allStarted).size !== allStarted.length) faults.push("two services began the same attempt");
  if (allStarted.length !== ids.length + again.length)
    faults.push(`${allStarted.length} attempts were begun`);
  for (const [name, { length }] of outcome.begun)
    if (length === 0 || length > ids.length / 2) faults.push(`${name} began ${length} of the jobs`);
  for (const name of miscounted) faults.push(`${name} counts other attempts in /metrics than in its log`);
  for (const name of outcome.written) faults.push(`${name} has written to its data folder`);
  return faults;
}
