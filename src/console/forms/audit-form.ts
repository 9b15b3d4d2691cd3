import type { View } from "../view.ts";

export const showAuditForm: View = (container) => {
  container.append("This form comes with the next version.");
};
