import type { FormSchemas, ModelParameter } from "../../../contract/api/published-schemas.ts";
import type { Path } from "../fields/payload-tree.ts";
import { modelNamed } from "../model-parameters.ts";
import type { PayloadForm } from "../payload/payload-form.ts";

/** What the editor of candidates needs to know about a job. */
export interface CandidateKind {
  /** The settings of the job itself, candidate 0. */
  readonly root: Path;
  /** The member that names what is fitted, of the settings and of an entry. */
  readonly model: string;
  /** What it names. */
  readonly noun: "model" | "network";
  /** What an entry may set besides, in the order of the editor. */
  readonly settings: readonly string[];
  /** Members whose sum is the number of folds; undefined if candidates have none. */
  readonly folds: readonly Path[] | undefined;
  readonly example: string;
  /** The canonical name of a model or network; undefined if there is none. */
  readonly named: (name: string, schemas: FormSchemas) => string | undefined;
  /** The names that a grid may have. */
  readonly parameters: (name: string, schemas: FormSchemas, form: PayloadForm) => readonly string[];
  /** The parameters to list for a model that is not the config's own. */
  readonly catalogue: (name: string, schemas: FormSchemas) => readonly ModelParameter[] | undefined;
}

const ML = ["config", "ML params"];
const DOT = ["config", "NN params", "Dot prediction"];

/** Sections whose members an entry of networks may vary. */
const SECTIONS = ["training_params", "data_processing"];

const KINDS: readonly CandidateKind[] = [
  {
    root: ML,
    model: "model",
    noun: "model",
    settings: ["fit", "target", "scaler"],
    folds: [
      [...ML, "n_splits"],
      [...ML, "choice", "warm_up"],
    ],
    example: "alpha = 0.1, 1, 10",
    named: (name, schemas) => modelNamed(schemas, name),
    parameters: (name, schemas) => schemas.parameters[name]!.map((parameter) => parameter.name),
    catalogue: (name, schemas) => schemas.parameters[name],
  },
  {
    root: DOT,
    model: "current option",
    noun: "network",
    settings: ["target"],
    folds: undefined,
    example: "learning_rate = 0.001, 0.0003",
    named: (name) => name,
    parameters: (name, _, form) => [
      ...SECTIONS.flatMap((section) => membersIn(form, [...DOT, section])),
      ...membersIn(form, [...DOT, "models_params", name]),
    ],
    catalogue: () => undefined,
  },
];

/** The names of the controls directly in a group. */
function membersIn({ controls }: PayloadForm, group: Path): string[] {
  return controls
    .map(({ field }) => field.path)
    .filter((path) => path.length === group.length + 1 && group.every((name, i) => path[i] === name))
    .map((path) => String(path.at(-1)));
}

/** The job of a form; undefined if its payload has no `choice`. */
export function candidateKind(form: PayloadForm): CandidateKind | undefined {
  return KINDS.find(({ root }) => membersIn(form, [...root, "choice"]).includes("candidates"));
}
