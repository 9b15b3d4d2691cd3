import { h } from "../view/html.ts";
import { type FormName, SubmitForm } from "./forms/submit-form.ts";
import { UploadForm } from "./inputs/upload-form.ts";
import { OperationList } from "./list/operation-list.ts";
import { RunView } from "./run/run-view.ts";
import type { ViewRoute } from "./view.ts";

const form = (name: FormName) => () => h(SubmitForm, { name });

/** Every view by its address. Views with a `link` appear in the navigation. */
const ROUTES: Readonly<Record<string, ViewRoute & { readonly link: string }>> = {
  "/operations": { title: "Operations", view: OperationList, link: "Operations" },
  "/job": { title: "Submit a job", view: form("job"), link: "New job", isWriting: true },
  "/upload": { title: "Upload inputs", view: UploadForm, link: "Upload", isWriting: true },
  "/audit": { title: "Audit the inputs of a job", view: form("audit"), link: "Audit", isWriting: true },
  "/replay": { title: "Replay an output", view: form("replay"), link: "Replay", isWriting: true },
};

export const LINKS = Object.entries(ROUTES).map(([path, { link }]) => ({ address: `#${path}`, words: link }));

export interface Address {
  readonly route: ViewRoute;
  /** The entry of LINKS that it belongs to. */
  readonly link: string;
  readonly params: URLSearchParams;
}

/** @param hash such as `#/operations?status=Running`; an unknown one leads to the operations. */
export function addressOf(hash: string): Address {
  const [path = "", query = ""] = hash.slice(1).split("?", 2);
  const params = new URLSearchParams(query);
  const id = /^\/operations\/([\w-]{1,64})$/.exec(path)?.[1];
  if (id !== undefined) {
    params.set("id", id);
    return { route: { title: "Operation", view: RunView }, link: "#/operations", params };
  }
  const found = Object.hasOwn(ROUTES, path) ? path : "/operations";
  return { route: ROUTES[found]!, link: `#${found}`, params };
}
