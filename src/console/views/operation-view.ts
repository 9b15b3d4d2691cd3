import { element } from "../dom.ts";
import type { View } from "../view.ts";

/** One operation, as it goes on. */
export const showOperation: View = async (container, { client, params, signal }) => {
  const operation = await client.getOperation(params.get("id")!, { signal });
  container.append(element("p", {}, operation.status));
};
