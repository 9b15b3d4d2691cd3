"""The catalogue of constructor parameters, from the installed libraries themselves.

`python -m mucast_engine.catalogue` prints, as JSON, what each regressor's constructor accepts: every parameter under
the constructor's own name, its aliases, the JSON types it accepts, its choices and its default. The TypeScript side
checks `model_params` against it, so that a service without Python refuses a wrong name at submit.

Types are those of JSON text as Python reads it: null, bool, int, float, string, list, object; and two more that
libraries accept: `whole`, a float without a fraction (`6.0`) if an integer is meant, and `number_text`, a string that
holds a number. A parameter without `types` accepts every type, or its types are unknown.
"""
