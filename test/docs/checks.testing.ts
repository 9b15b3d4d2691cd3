/** How each code block of the docs is checked; a block has one entry, which names its start. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { parseDlSettings } from "../../src/contract/config/dl-settings.ts";
import { parseMlSettings } from "../../src/contract/config/ml-settings.ts";
import { resultRecordSchema } from "../../src/contract/output/result-record.ts";
import { settingsSchema } from "../../src/contract/settings.ts";

export type Check =
  /** Output, or a figure. */
  | { readonly by: "eye" }
  | { readonly by: "json"; readonly read: (text: string) => unknown }
  /** sh that cannot be run here. */
  | { readonly by: "syntax" }
  /** Python: compiled, and saved if sh of the page runs it by its name. */
  | { readonly by: "python"; readonly file?: string }
  /** The service that all of them run against. */
  | { readonly by: "service" }
  /** sh, run unchanged after the blocks before it; the output that the page shows is compared. */
  | { readonly by: "shell"; readonly folder?: string; readonly files?: () => Record<string, string> }
  /** A program: compiled, and saved if sh of the page runs it by its name. `before` stands for the reader's own code. */
  | { readonly by: "program"; readonly file: string; readonly before?: string };

const EYE = { by: "eye" } as const;
const SYNTAX = { by: "syntax" } as const;
const SERVICE = { by: "service" } as const;
const PYTHON = { by: "python" } as const;
const SHELL = { by: "shell" } as const;
const EXAMPLE = { by: "shell", folder: "examples/sp500-30" } as const;

function json(read: (text: string) => unknown): Check {
  return { by: "json", read };
}

/** Another test reads it: src/ingest/blob-docs.test.ts. */
const BLOB = json(JSON.parse);
const PLAIN = json(JSON.parse);
const ML = json(parseMlSettings);
const DL = json(parseDlSettings);
const RECORD = json((text) => resultRecordSchema.parse(JSON.parse(text)));
const SETTINGS = json((text) => settingsSchema.parse(JSON.parse(text)));

/** Sections of `ML params`, one per line. */
const ML_LINES = json((text) => {
  for (const line of text.trim().split("\n")) parseMlSettings(`{"ML params": ${line}}`);
});

const SIGNED_REQUEST = `
  import { Webhook as Sender } from "standardwebhooks";
  const secret = "whsec_dHdlbnR5LWZvdXIgYnl0ZXMsIG9yIG1vcmU=";
  const sent = JSON.stringify({ type: "mucast.operation.succeeded" });
  const headers = {
    "webhook-id": "1",
    "webhook-timestamp": String(Math.floor(Date.now() / 1_000)),
    "webhook-signature": new Sender(secret).sign("1", new Date(), sent),
  };
  const request = new Request("https://optimizer.example.com/hooks", { method: "POST", body: sent, headers });
`;

const FINISHED = `
  import { MucastClient } from "mucast/client";
  const client = new MucastClient({ baseUrl: "http://127.0.0.1:8080" });
  const payload = {
    feature_url: "http://127.0.0.1:8080/data/feature_engine_sp500.parquet",
    data_extractor_url: "http://127.0.0.1:8080/data/data_extractor_sp500.parquet",
    config: { "ML params": { model: "ridge", n_splits: 2, cv_test_size: 3 } },
  };
  const operation = await client.runAndWait("run_ml_job", payload);
`;

const FOLLOWED = `
  import { MucastClient } from "mucast/client";
  const client = new MucastClient({ baseUrl: "http://127.0.0.1:8080" });
  const { operations } = await client.listOperations({ limit: 1 });
  const id = operations.map((operation) => operation.id).join();
  const draw = console.log;
`;

/** Dates and 30 tickers of the demo. */
const OWN_PRICES: Check = {
  by: "shell",
  files: () => {
    const lines = gunzipSync(readFileSync("examples/sp500-200/prices.csv.gz")).toString().split("\n");
    return { "prices.csv": lines.map((line) => line.split(",", 31).join(",")).join("\n") };
  },
};

function python(file: string): Check {
  return { by: "python", file };
}

function program(file: string, before = ""): Check {
  return { by: "program", file, before };
}

const DOT_PREDICTION = '{\n  "NN params": {\n    "Dot prediction": {\n      ';

type Entry = readonly [page: string, begins: string, check: Check];

export const CHECKS: readonly Entry[] = [
  ["README.md", "npm run demo", SYNTAX],
  ["README.md", "                                 pooled-lightgbm", EYE],
  ["README.md", "npm run --silent mucast -- forecast", OWN_PRICES],
  ["docs/architecture.md", "cli ──>", EYE],
  ["docs/architecture.md", "mucast (node) ──", EYE],
  ["docs/audit.md", "check        result", EYE],
  ["docs/audit.md", "mucast replay", SYNTAX],
  ["docs/audit.md", "ml_engine_42.json: identical", EYE],
  ["docs/audit.md", "sed -E", SYNTAX],
  ["docs/blobs.md", '{ "start":', BLOB],
  ["docs/blobs.md", '{ "dates":', BLOB],
  ["docs/blobs.md", '[{ "ticker":', BLOB],
  ["docs/blobs.md", '{ "AAPL": [{ "date":', BLOB],
  ["docs/blobs.md", '{ "AAPL": { "2020-01-02":', BLOB],
  ["docs/blobs.md", '{ "AAPL": { "mom_5":', BLOB],
  ["docs/blobs.md", '{ "AAPL": { "columns":', BLOB],
  ["docs/blobs.md", '{ "columns":', BLOB],
  ["docs/blobs.md", '{ "AAPL": { "dates":', BLOB],
  ["docs/blobs.md", "features.to_parquet(", EYE],
  ["docs/blobs.md", "feature_engine_7.json: AAPL", EYE],
  ["docs/client.md", "import { readFile }", program("forecast.mjs")],
  ["docs/client.md", "npm run --silent node -- forecast.mjs", SHELL],
  ["docs/client.md", 'import { MucastClient } from "mucast/client";', program("follow.mjs")],
  ["docs/client.md", "npm run --silent node -- follow.mjs", SHELL],
  ["docs/client.md", "const replayed = await", program("proofs.mjs", FINISHED)],
  ["docs/client.md", "for await (const event of client.events(id))", program("curves.mjs", FOLLOWED)],
  ["docs/client.md", "import { MucastApiError, MucastClient }", program("refused.mjs")],
  ["docs/client.md", "npm run --silent node -- refused.mjs", SHELL],
  ["docs/client.md", "pip install", SYNTAX],
  ["docs/client.md", "import pandas as pd\nfrom mucast_client", python("forecast.py")],
  ["docs/client.md", "python forecast.py", SHELL],
  ["docs/client.md", "from pathlib import Path\nfrom mucast_client import Client", python("sweep.py")],
  ["docs/client.md", "python sweep.py", SHELL],
  ["docs/cluster.md", "npm install --global", SYNTAX],
  ["docs/cluster.md", "umask 077", SYNTAX],
  ["docs/cluster.md", "export RAY_AUTH_MODE", SYNTAX],
  ["docs/cluster.md", "export RAY_AUTH_TOKEN_PATH", SYNTAX],
  ["docs/cluster.md", "docker run", SYNTAX],
  ["docs/cluster.md", "openssl req -x509", SYNTAX],
  ["docs/cluster.md", "export RAY_USE_TLS", SYNTAX],
  ["docs/cluster.md", "docker build", SYNTAX],
  ["docs/cluster.md", "- name: MUCAST_ENGINE_URL", EYE],
  ["docs/config.md", '{\n  "ML params": {\n    "model": "lightgbm"', ML],
  ["docs/config.md", '{\n  "ML params": {\n    "model": "ridge"', ML],
  ["docs/config.md", `${DOT_PREDICTION}"current option": "transformer"`, DL],
  ["docs/config.md", `${DOT_PREDICTION}"current option": "portfolio_lstm"`, DL],
  ["docs/config.md", "mucast choose", SYNTAX],
  ["docs/configuration.md", '{\n  "port"', SETTINGS],
  ["docs/contributing.md", "npm run release -- check", SYNTAX],
  ["docs/contributing.md", "cosign verify-blob", SYNTAX],
  ["docs/deploying.md", "docker build", SYNTAX],
  ["docs/deploying.md", "docker run", SYNTAX],
  ["docs/deploying.md", "az group create", SYNTAX],
  ["docs/deploying.md", "kubectl create", SYNTAX],
  ["docs/deploying.md", "images:\n  - name", EYE],
  ["docs/deploying.md", "python3 -m venv", SYNTAX],
  ["docs/deploying.md", "sudo -u mucast mucast db status", SYNTAX],
  ["docs/deploying.md", "npm pack && sudo", SYNTAX],
  ["docs/deploying.md", "MUCAST_SITE=", SYNTAX],
  ["docs/deploying.md", "sudo -u mucast mucast db backup", SYNTAX],
  ["docs/deploying.md", "sudo systemctl stop mucast", SYNTAX],
  ["docs/deploying.md", "pg_dump", SYNTAX],
  ["docs/deploying.md", "kubectl --namespace mucast scale", SYNTAX],
  ["docs/deploying.md", "mucast db orphans", SYNTAX],
  ["docs/deploying.md", '{"level"', PLAIN],
  ["docs/deploying.md", "export MLFLOW_TRACKING_URI", SYNTAX],
  ["docs/deploying.md", '{"mlflow"', PLAIN],
  ["docs/getting-started.md", "npm run --silent mucast -- serve", SERVICE],
  ["docs/getting-started.md", "curl -T data", EXAMPLE],
  ["docs/getting-started.md", "curl -H 'Prefer: wait=60' -H 'Content-Type: application/json' -H", EXAMPLE],
  ["docs/getting-started.md", "curl http://127.0.0.1:8080/data/ml_engine", EXAMPLE],
  ["docs/getting-started.md", "curl -s --fail -o report.html", EXAMPLE],
  ["docs/getting-started.md", "curl -H 'Content-Type", EXAMPLE],
  [
    "docs/getting-started.md",
    "curl -H 'Prefer: wait=60' -H 'Content-Type: application/json' http://127.0.0.1:8080/v1/replay",
    EXAMPLE,
  ],
  ["docs/getting-started.md", "curl http://127.0.0.1:8080/v1/operations/1ed30d57", EXAMPLE],
  ["docs/getting-started.md", "#!/bin/sh", SYNTAX],
  ["docs/getting-started.md", "30 22", EYE],
  ["docs/http.md", "id: 3\n", EYE],
  ["docs/http.md", 'data: {"seq":9', EYE],
  ["docs/http.md", '{\n  "mcpServers": {\n    "mucast": {\n', PLAIN],
  ["docs/http.md", '{\n  "mcpServers": {\n    "mucast": { "command"', PLAIN],
  ["docs/http.md", '{\n  "webhooks"', SETTINGS],
  ["docs/http.md", "content-type: application/cloudevents+json", EYE],
  ["docs/http.md", "import { Webhook }", program("verify.mjs", SIGNED_REQUEST)],
  ["docs/http.md", "from standardwebhooks", PYTHON],
  ["docs/model-params.md", '{ "ML params"', ML],
  ["docs/model-params.md", "config.ML params.model_params", EYE],
  ["docs/model-params.md", '{ "model": "rf"', ML_LINES],
  ["docs/networks.md", '{ "NN params": { "Dot prediction": { "current option": "lstm"', DL],
  ["docs/networks.md", '{ "NN params": { "Dot prediction": { "current option": "portfolio_lstm"', DL],
  ["docs/networks.md", '{\n  "NN params"', DL],
  ["docs/output.md", '{ "status"', RECORD],
  // Another test runs it: test/portfolio.release.test.ts.
  ["docs/portfolio.md", "/** Prints what an optimizer", EYE],
  ["docs/portfolio.md", "import json", PYTHON],
  ["docs/portfolio.md", "mucast export", SYNTAX],
  ["docs/portfolio.md", "python3 -m venv", SYNTAX],
  ["docs/portfolio.md", "20 tickers as of", EYE],
  ["docs/report.md", "mucast report", SYNTAX],
  ["docs/semantics.md", " close of day", EYE],
  ["docs/semantics.md", "                                        L = ", EYE],
  ["docs/semantics.md", " price ", EYE],
  ["docs/semantics.md", " n = 45", EYE],
  ["docs/semantics.md", " rows ", EYE],
];
