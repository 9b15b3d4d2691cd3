import { element, fill } from "../../dom.ts";
import { type BlobKind, knownBlobs, partnerOf } from "../../inputs/blob-name.ts";
import type { ViewContext } from "../../view.ts";
import { newId } from "../fields/field-control.ts";
import type { PayloadForm } from "../payload/payload-form.ts";

/** The payload members that name an input, with its kind. */
const URL_FIELDS: Readonly<Record<string, BlobKind>> = {
  feature_url: "feature_engine",
  data_extractor_url: "data_extractor",
  previous_feature_url: "feature_engine",
  previous_data_extractor_url: "data_extractor",
};

/** The other input of a job. */
const PARTNER: Readonly<Record<string, string>> = {
  feature_url: "data_extractor_url",
  data_extractor_url: "feature_url",
};

/**
 * Makes the URL fields offer uploaded and prepared blobs, and fills in the matching other input of a job while it is empty.
 * @returns a function to call after a blob was remembered.
 */
export function offerKnownBlobs(form: PayloadForm, { client }: ViewContext): () => void {
  const lists = form.controls.flatMap(({ field, input, element: place }) => {
    const kind = URL_FIELDS[field.name];
    if (kind === undefined || field.path.length > 1) return [];
    const list = element("datalist", { id: newId() });
    input.setAttribute("list", list.id);
    place.append(list);
    input.addEventListener("change", () => addPartner(form, field.name, client));
    return [{ list, kind }];
  });
  const refresh = () => {
    for (const { list, kind } of lists)
      fill(list, ...knownBlobs(client, kind).map((url) => element("option", { value: url })));
  };
  refresh();
  return refresh;
}

function addPartner(form: PayloadForm, name: string, client: ViewContext["client"]): void {
  const other = PARTNER[name];
  const url = form.valueAt([name]);
  if (other === undefined || typeof url !== "string" || form.valueAt([other]) !== undefined) return;
  const partner = partnerOf(client, url);
  if (partner !== undefined) form.set([other], partner);
}
