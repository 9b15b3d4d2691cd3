import type { OperationView } from "../../contract/api/operation-view.ts";
import type { Operations } from "../operations.ts";

/** What the tools do: Operations themselves, or those of a service elsewhere. */
export type ToolOperations = Pick<Operations, "get" | "list" | "cancel" | "forecast"> & {
  submit(...submitted: Parameters<Operations["submit"]>): Promise<{ operation: OperationView }>;
};
