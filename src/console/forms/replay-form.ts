import type { View } from "../view.ts";

export const showReplayForm: View = (container) => {
  container.append("This form comes with the next version.");
};
