import { type Architecture, NETWORKS } from "../../src/contract/config/networks.ts";
import type { SignalName } from "./planted-signals.ts";

/** The smallest IC that an option may reach with all its defaults; for `null`, the largest absolute one. */
export const MINIMA: Readonly<Record<string, Partial<Record<SignalName, number>>>> = {
  lstm: { linear: 0.48, memory: 0.28, null: 0.06 },
  mlp: { linear: 0.42, memory: 0.42, null: 0.06 },
  cnn: { linear: 0.35, memory: 0.38, null: 0.06 },
  transformer: { linear: 0.45, memory: 0.45, null: 0.06 },
  portfolio_lstm: { linear: 0.52, memory: 0.42, cross: 0.48, null: 0.06 },
  portfolio_transformer: { linear: 0.52, memory: 0.48, cross: 0.48, null: 0.06 },
} satisfies Record<Architecture, object>;

export const OPTIONS = Object.keys(MINIMA);

export function isJoint(option: string): boolean {
  return NETWORKS[option as Architecture].joint;
}
