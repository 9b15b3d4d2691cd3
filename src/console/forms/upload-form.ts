import type { View } from "../view.ts";

export const showUploadForm: View = (container) => {
  container.append("This form comes with the next version.");
};
