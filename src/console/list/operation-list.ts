import type { TargetedEvent, TargetedMouseEvent, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { pause } from "../../client/connection.ts";
import type {
  OperationPage,
  OperationStatus,
  OperationView,
  SubmittedOperation,
} from "../../client/index.ts";
import { MAX_COMPARED_OUTPUTS, TAG_LIMITS, TAG_PATTERN } from "../../contract/config/limits.ts";
import { countedRows } from "../../view/figures.ts";
import { h, html, onText, select } from "../../view/html.ts";
import { table } from "../../view/table.ts";
import { bdi } from "../../view/text.ts";
import { storeExample } from "../inputs/data-section.ts";
import { errorBox, errorWords, useAction, useView } from "../view.ts";
import { KINDS, runName, STATUSES } from "../words.ts";
import { ChosenRuns } from "./chosen-runs.ts";
import { matchesText, orderAfter, orderOf, RUN_COLUMNS, sortedRuns } from "./run-columns.ts";

/** Maximum number of rows on the page, however many operations there are. */
const ROWS = 25;
const POLL_MS = 5_000;

/**
 * The caller's operations, one page at a time, newest first as the service lists them. The reader sorts and searches the rows of a page. The
 * address contains the filters, the order and the page.
 */
export function OperationList(): VNode {
  const { client, params: first, signal, notify } = useView();
  const [params, setParams] = useState(first);
  const [page, setPage] = useState<OperationPage>();
  const [error, setError] = useState<unknown>();
  const [chosen, setChosen] = useState<readonly OperationView[]>([]);
  const [said, say] = useState("");
  const latest = useRef({ params, reads: 0 });
  const read = async (): Promise<OperationPage> => {
    const { params: asked } = latest.current;
    latest.current.reads += 1;
    const number = latest.current.reads;
    const found = await client.listOperations({
      limit: ROWS,
      status: (asked.get("status") as OperationStatus | null) ?? undefined,
      operation: (asked.get("operation") as SubmittedOperation | null) ?? undefined,
      tag: asked.getAll("tag"),
      cursor: asked.get("cursor") ?? undefined,
      signal,
    });
    // Otherwise a filter has changed in the meantime.
    if (number === latest.current.reads) setPage(found);
    return found;
  };
  useEffect(() => {
    const follow = async () => {
      await read();
      for (;;) {
        await pause(POLL_MS, signal);
        // The frame says that the service is away; the page stays unchanged.
        if (!document.hidden) await read().catch(() => undefined);
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
  const order = orderOf(params.get("sort"));
  const matching = (text: string | null) => operations.filter((run) => matchesText(run, text ?? ""));
  const shown = sortedRuns(matching(params.get("text")), order);
  const onShown = (act: (changed: URLSearchParams) => void) => {
    change(act);
    say(`${countedRows(matching(latest.current.params.get("text")).length, "operation")} shown`);
  };
  const onClick = ({ target }: TargetedMouseEvent<HTMLElement>) => {
    const { tag } = (target as Element).closest<HTMLElement>("td [data-tag]")?.dataset ?? {};
    if (tag !== undefined) void filter((changed) => addTag(changed, tag));
  };
  const [runColumn, ...columns] = RUN_COLUMNS;
  return html`<div onClick=${onClick}>
    ${h(ListFilters, { params, onFilter: filter, onShown })}
    ${operations.length > 0 && h(ChosenRuns, { chosen, onClear: () => setChosen([]) })}
    ${
      shown.length > 0 &&
      table({
        name: "Runs; the headers of columns sort them",
        kind: "operations cards",
        columns: [
          {
            ...runColumn!,
            cell: (run) =>
              html`<span class="choose">${compareBox(run, chosen, setChosen)}</span>${runColumn!.cell(run)}`,
          },
          ...columns,
        ],
        rows: shown,
        keyOf: ({ id }) => id,
        order: {
          column: RUN_COLUMNS.findIndex(({ key }) => key === order.replace("-", "")),
          isDescending: order.startsWith("-"),
          onSort: (column) =>
            change((changed) => changed.set("sort", orderAfter(order, RUN_COLUMNS[column]!))),
        },
      })
    }
    <nav class="pages" aria-label="Pages">
      ${shown.length === 0 && noRows(operations.length > 0, params)}
      ${params.has("cursor") && html`<a href=${addressOf(params, null)}>Newest</a>`}
      ${next_cursor !== null && html`<a href=${addressOf(params, next_cursor)}>Older</a>`}
    </nav>
    <p class="unseen" role="status">${said}</p>
  </div>`;
}

/** The box that chooses a run to compare; figures of runs on different prices are not comparable. */
function compareBox(
  run: OperationView,
  chosen: readonly OperationView[],
  onChosen: (runs: readonly OperationView[]) => void,
): VNode | undefined {
  if (run.status !== "Succeeded" || run.operation === "audit" || run.operation === "replay") return undefined;
  const others = chosen.filter(({ id }) => id !== run.id);
  const isChosen = others.length < chosen.length;
  const isApart = chosen.length > 0 && run.inputs?.data_extractor !== chosen[0]!.inputs?.data_extractor;
  const toggle = ({ currentTarget: { checked } }: TargetedEvent<HTMLInputElement>) =>
    onChosen(checked ? [...others, run] : others);
  return html`<input type="checkbox" aria-label=${`Compare ${runName(run)} ${run.id.slice(0, 8)}`} checked=${isChosen}
    title=${isApart ? "It has other prices than the chosen runs." : undefined}
    disabled=${!isChosen && (isApart || chosen.length === MAX_COMPARED_OUTPUTS)} onChange=${toggle} />`;
}

function noRows(hasOthers: boolean, params: URLSearchParams): VNode {
  if (hasOthers) return html`<p class="empty">No operation on this page contains this text.</p>`;
  return ["status", "operation", "tag", "cursor"].some((name) => params.has(name))
    ? html`<p class="empty">No operations match these filters.</p>`
    : h(FirstSteps, {});
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
  const { isBusy, run } = useAction("The example could not be run.", async () => {
    const ml = { model: "ridge", fit: "pooled", target: "relative", shrinkage: "pooled" };
    const payload = { ...(await storeExample(context)), config: { "ML params": ml }, tags: ["example"] };
    const { id } = await context.client.runMlJob(payload, { signal: context.signal });
    context.navigate(`#/operations/${id}`);
  });
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

interface ListFiltersProps {
  /** Of the address, which has the values of the controls. */
  readonly params: URLSearchParams;
  /** Filters of the service: other runs are read. */
  onFilter(change: (params: URLSearchParams) => void): void;
  /** What concerns only the rows on the page. */
  onShown(change: (params: URLSearchParams) => void): void;
}

/** Lists the runs that also have this tag. */
function addTag(params: URLSearchParams, tag: string): void {
  const tags = params.getAll("tag");
  if (!tags.includes(tag) && tags.length < TAG_LIMITS.tags) params.append("tag", tag);
}

const ORDERS = RUN_COLUMNS.flatMap(({ key, title }) => [
  [`-${key}`, `${title}, descending`] as const,
  [key, `${title}, ascending`] as const,
]);

/** The controls above the table. */
function ListFilters({ params, onFilter, onShown }: ListFiltersProps): VNode {
  const form = useRef<HTMLFormElement>(null);
  const setter = (name: string, value: string) => (changed: URLSearchParams) =>
    value === "" ? changed.delete(name) : changed.set(name, value);
  const choose = (name: string, label: string, choices: readonly (readonly [string, string])[]) =>
    html`<label>${label} ${select(params.get(name) ?? "", [["", "all"], ...choices], {
      onChange: onText((text) => onFilter(setter(name, text))),
    })}</label>`;
  const onTag = ({ currentTarget: input }: TargetedEvent<HTMLInputElement>) => {
    const tag = input.value.trim();
    input.value = tag;
    if (tag === "" || !input.reportValidity()) return;
    onFilter((changed) => addTag(changed, tag));
    input.value = "";
  };
  const removeTag = (tag: string) => {
    onFilter((changed) => changed.delete("tag", tag));
    form.current!.querySelector<HTMLElement>("input")!.focus();
  };
  return html`<form class="filters" aria-label="Filters" ref=${form} onSubmit=${(event: Event) => event.preventDefault()}>
    ${choose("status", "Status", STATUSES)}
    ${choose("operation", "Kind", Object.entries(KINDS))}
    <label>Tag${" "}
      <input type="text" autocomplete="off" spellcheck=${false} pattern=${TAG_PATTERN} placeholder="Add a tag"
        title=${`1 to ${TAG_LIMITS.characters} printable ASCII characters`} onChange=${onTag} /></label>
    <label>Text${" "}
      <input type="search" autocomplete="off" spellcheck=${false} placeholder="In these rows" value=${params.get("text") ?? ""}
        onInput=${onText((text) => onShown(setter("text", text.trimStart())))} /></label>
    <label class="order">Sort by ${select(orderOf(params.get("sort")), ORDERS, {
      onChange: onText((text) => onShown(setter("sort", text))),
    })}</label>
    <span class="tags">${params.getAll("tag").map(
      (tag) => html`<button type="button" class="tag" aria-label=${`Remove the filter by tag ${tag}`}
        onClick=${() => removeTag(tag)}>${bdi(tag)} ×</button>`,
    )}</span>
  </form>`;
}
