import { setFlagsFromString } from "node:v8";

/**
 * Imported by each program of this package for its effect. When code of Maglev, V8's middle compiler, gives up inside an object literal, V8
 * 13.6 (Node 24) can give two results of one function the same numbers: the later overwrites the earlier. Turbofan does not.
 */
setFlagsFromString("--no-maglev");
