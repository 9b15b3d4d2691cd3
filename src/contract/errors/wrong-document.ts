/**
 * The title and the advice of errors about a file of another kind. It may be whole and valid, so the words of the error's code would mislead.
 */
interface WrongDocument {
  readonly title: string;
  readonly advice: string;
}

export const NOT_AN_OUTPUT: WrongDocument = {
  title: "The document is not an output of a job",
  advice:
    "Give an output of run_ml_job or run_dl_job: the result of a job names it, and `mucast list` shows the outputs in a folder.",
};

export const NOT_A_VERDICT: WrongDocument = {
  title: "The document is not the expected verdict",
  advice:
    "Give what `mucast replay` or `mucast audit` has printed or written, each to the option of its name.",
};

export const NOT_A_TABLE: WrongDocument = {
  title: "The file is neither CSV nor Parquet",
  advice: "Give an input blob to the job as it is; save other tables as CSV or Parquet.",
};
