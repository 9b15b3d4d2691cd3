import { showAuditForm } from "./forms/audit-form.ts";
import { showUploadForm } from "./forms/inputs/input-forms.ts";
import { showJobForm } from "./forms/job-form.ts";
import { showReplayForm } from "./forms/replay-form.ts";
import type { ViewRoute } from "./view.ts";
import { showOperation } from "./views/operation/operation-view.ts";
import { showOperations } from "./views/operations/operations-view.ts";

/** Every view by its address. Views with a `link` appear in the navigation. */
const ROUTES: Readonly<Record<string, ViewRoute & { readonly link?: string }>> = {
  "/operations": { title: "Operations", view: showOperations, link: "Operations" },
  "/job": { title: "Submit a job", view: showJobForm, link: "New job", isWriting: true },
  "/upload": { title: "Upload inputs", view: showUploadForm, link: "Upload", isWriting: true },
  "/audit": { title: "Audit the inputs of a job", view: showAuditForm, link: "Audit", isWriting: true },
  "/replay": { title: "Replay an output", view: showReplayForm, link: "Replay", isWriting: true },
};

/** Addresses of the navigation, with their labels. */
export const LINKS = Object.entries(ROUTES).flatMap(([path, { link }]) =>
  link === undefined ? [] : [{ address: `#${path}`, words: link }],
);

export interface Address {
  readonly route: ViewRoute;
  /** The entry of LINKS that it belongs to. */
  readonly link: string;
  readonly params: URLSearchParams;
}

const OPERATION = /^\/operations\/([\w-]{1,64})$/;

/** @param hash such as `#/operations?status=Running`; an unknown one leads to the operations. */
export function addressOf(hash: string): Address {
  const [path = "", query = ""] = hash.slice(1).split("?", 2);
  const params = new URLSearchParams(query);
  const id = OPERATION.exec(path)?.[1];
  if (id !== undefined) {
    params.set("id", id);
    return { route: { title: "Operation", view: showOperation }, link: "#/operations", params };
  }
  const found = Object.hasOwn(ROUTES, path) ? path : "/operations";
  return { route: ROUTES[found]!, link: `#${found}`, params };
}
