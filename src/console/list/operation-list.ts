import type { TargetedEvent, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type {
  OperationPage,
  OperationStatus,
  OperationView,
  SubmittedOperation,
} from "../../client/index.ts";
import { MAX_COMPARED_OUTPUTS } from "../../contract/config/limits.ts";
import { countedRows } from "../../view/figures.ts";
import { h, html } from "../../view/html.ts";
import { table } from "../../view/table.ts";
import { runExample } from "../inputs/example-data.ts";
import { errorBox, errorWords } from "../problem.ts";
import { pause } from "../service-link.ts";
import { useAction, useView } from "../view.ts";
import { runName } from "../words.ts";
import { ChosenRuns, hasSamePrices } from "./chosen-runs.ts";
import { addTag, ListFilters } from "./list-filters.ts";
import { matchesText, orderAfter, orderOf, orderText, runColumns, sortedRuns } from "./run-columns.ts";

/** Maximum number of rows on the page, however many operations there are. */
const ROWS = 25;
const POLL_MS = 5_000;
/** Number of idle polls before the list is refreshed anyway. */
const MAX_IDLE_POLLS = 12;

/**
 * The caller's operations, one page at a time, newest first as the service lists them. The reader sorts and searches the rows of a page. The
 * address contains the filters, the order and the page.
 */
export function OperationList(): VNode {
  const { client, params: given, signal, queue, notify } = useView();
  const [params, setParams] = useState(given);
  const [page, setPage] = useState<OperationPage>();
  const [error, setError] = useState<unknown>();
  const [chosen, setChosen] = useState<readonly OperationView[]>([]);
  const [said, say] = useState("");
  const latest = useRef({ params, page, reads: 0 });
  const read = async (): Promise<OperationPage> => {
    const now = latest.current;
    now.reads += 1;
    const number = now.reads;
    const found = await client.listOperations({
      limit: ROWS,
      status: (now.params.get("status") as OperationStatus | null) ?? undefined,
      operation: (now.params.get("operation") as SubmittedOperation | null) ?? undefined,
      tag: now.params.getAll("tag"),
      cursor: now.params.get("cursor") ?? undefined,
      signal,
    });
    // A filter has changed in the meantime.
    if (number !== now.reads) return now.page ?? found;
    now.page = found;
    setPage(found);
    return found;
  };
  useEffect(() => {
    /** Reads the page again while an operation on it runs, or if the caller's queue has changed. */
    const follow = async () => {
      await read();
      let seen = JSON.stringify(queue().own);
      for (let idle = 0; ; ) {
        await pause(POLL_MS, signal);
        if (signal.aborted) return;
        if (document.hidden) continue;
        const own = JSON.stringify(queue().own);
        idle += 1;
        const goesOn = latest.current.page!.operations.some(({ finished_at }) => finished_at === null);
        if (!goesOn && own === seen && idle < MAX_IDLE_POLLS) continue;
        [idle, seen] = [0, own];
        // The frame says that the service is away; the page stays unchanged.
        await read().catch(() => undefined);
      }
    };
    follow().catch((failure: unknown) => void (signal.aborted || setError(failure)));
  }, []);
  /** Changes the address without a new view, which would move the focus. */
  const change = (act: (changed: URLSearchParams) => void) => {
    const changed = new URLSearchParams(latest.current.params);
    act(changed);
    latest.current.params = changed;
    history.replaceState(null, "", addressOf(changed, changed.get("cursor")));
    setParams(changed);
  };
  const filter = async (act: (changed: URLSearchParams) => void) => {
    change((changed) => {
      act(changed);
      changed.delete("cursor");
    });
    try {
      say(`${countedRows((await read()).operations.length, "operation")} on this page`);
    } catch (failure) {
      const words = `Could not refresh the list; it shows the previous state. ${errorWords(failure)}`;
      if (!signal.aborted) notify(words, "failed");
    }
  };
  if (error !== undefined) return errorBox(error);
  if (page === undefined) return html`<div aria-busy="true" />`;
  const { operations, next_cursor } = page;
  const isFiltered = ["status", "operation", "tag", "cursor"].some((name) => params.has(name));
  const order = orderOf(params.get("sort"));
  const text = params.get("text") ?? "";
  const shown = sortedRuns(
    operations.filter((run) => matchesText(run, text)),
    order,
  );
  const columns = runColumns((tag) => void filter((changed) => addTag(changed, tag)));
  const toggle = (run: OperationView, isChosen: boolean) =>
    setChosen((all) => (isChosen ? [...all, run] : all.filter(({ id }) => id !== run.id)));
  const box = (run: OperationView) => {
    if (run.status !== "Succeeded" || run.operation === "audit" || run.operation === "replay")
      return undefined;
    const isChosen = chosen.some(({ id }) => id === run.id);
    const isApart = chosen.length > 0 && !hasSamePrices(run, chosen[0]!);
    return html`<input type="checkbox" aria-label=${`Compare ${runName(run)} ${run.id.slice(0, 8)}`} checked=${isChosen}
      title=${isApart ? "It has other prices than the chosen runs." : undefined}
      disabled=${!isChosen && (isApart || chosen.length === MAX_COMPARED_OUTPUTS)}
      onChange=${({ currentTarget }: TargetedEvent<HTMLInputElement>) => toggle(run, currentTarget.checked)} />`;
  };
  return html`<div>
    ${h(ListFilters, {
      params,
      onFilter: filter,
      onShown: (act) => {
        change(act);
        const left = operations.filter((run) => matchesText(run, latest.current.params.get("text") ?? ""));
        say(`${countedRows(left.length, "operation")} shown`);
      },
    })}
    ${operations.length > 0 && h(ChosenRuns, { chosen, onClear: () => setChosen([]) })}
    ${
      shown.length > 0 &&
      table({
        name: "Runs; the headers of columns sort them",
        kind: "operations cards",
        columns: [
          {
            ...columns[0]!,
            cell: (run) => html`<span class="choose">${box(run)}</span>${columns[0]!.cell(run)}`,
          },
          ...columns.slice(1),
        ],
        rows: shown,
        keyOf: ({ id }) => id,
        order: {
          column: columns.findIndex(({ key }) => key === order.key),
          isDescending: order.isDescending,
          onSort: (column) =>
            change((changed) => changed.set("sort", orderText(orderAfter(order, columns[column]!)))),
        },
      })
    }
    <nav class="pages" aria-label="Pages">
      ${
        shown.length === 0 &&
        (operations.length > 0
          ? html`<p class="empty">No operation on this page contains this text.</p>`
          : isFiltered
            ? html`<p class="empty">No operations match these filters.</p>`
            : h(FirstSteps, {}))
      }
      ${params.has("cursor") && html`<a href=${addressOf(params, null)}>Newest</a>`}
      ${next_cursor !== null && html`<a href=${addressOf(params, next_cursor)}>Older</a>`}
    </nav>
    <p class="unseen" role="status">${said}</p>
  </div>`;
}

function addressOf(params: URLSearchParams, cursor: string | null): string {
  const changed = new URLSearchParams(params);
  changed.delete("cursor");
  if (cursor !== null) changed.set("cursor", cursor);
  return `#/operations${changed.size === 0 ? "" : `?${changed}`}`;
}

/** What a caller without operations sees: a job on the example data, or one of their own. */
function FirstSteps(): VNode {
  const context = useView();
  const { isBusy, run } = useAction("The example could not be run.", async () =>
    context.navigate(`#/operations/${await runExample(context)}`),
  );
  if (!context.mayWrite) return html`<p class="empty">No operations yet.</p>`;
  return html`<section class="first">
    <h2>No operations yet</h2>
    <p>Try it on the example data: prices and features of 30 stocks over three years. A ridge regression forecasts the next return
      of each within seconds.</p>
    <p class="buttons">
      <button type="button" class="main" disabled=${isBusy} onClick=${run}>Run a job on example data</button>
      <a class="button" href="#/job">Use your own data</a>
    </p>
    <p class="hint">The button stores both example blobs as yours, and submits a job with the tag “example”.</p>
  </section>`;
}
