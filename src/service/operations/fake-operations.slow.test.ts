import { FakeOperations } from "./fake-operations.testing.ts";
import { operationsSuite } from "./operations-suite.testing.ts";

operationsSuite(async (_t, options) => {
  const operations = new FakeOperations(options);
  return {
    operations,
    start: async (id) => operations.start(id),
    end: async (id, status) => operations.end(id, status),
    prune: async (id) => operations.prune(id),
  };
});
