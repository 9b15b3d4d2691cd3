# syntax=docker/dockerfile:1
# Four images from one file:
#   docker build --target ml -t mucast-ml .          run_ml_job and the service
#   docker build --target dl -t mucast-dl .          the same, and run_dl_job: adds PyTorch, 5.5 GB
#   docker build --target dl-cpu -t mucast-dl-cpu .  as dl, without what PyTorch opens only on a GPU
#   docker build --target ray -t mucast-ray .        both jobs on a Ray cluster, and the nodes of that cluster: adds Ray
# docs/deploying.md and docs/cluster.md say how they are used; `npm run release -- build-args` prints the arguments VERSION, COMMIT and
# SOURCE, which the labels show. Debian 12: Python 3.11, and Node as in tools/node.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

# What every stage that runs something needs. LightGBM loads libgomp; tini reaps what killed workers leave.
FROM $NODE_IMAGE AS system
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates libgomp1 python3 tini \
    && rm -rf /var/lib/apt/lists/*

# uv by pip, from its own hashed lock, as `mucast setup` does it.
FROM system AS uv
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3-pip \
    && rm -rf /var/lib/apt/lists/*
COPY engine/requirements-uv.txt /locks/
RUN python3 -m pip install --no-cache-dir --disable-pip-version-check --no-deps --only-binary :all: \
    --require-hashes -r /locks/requirements-uv.txt --target /opt/uv

FROM uv AS engine-ml
COPY engine/requirements-ml.txt /locks/
RUN /opt/uv/bin/uv venv --quiet --no-cache --python /usr/bin/python3 /opt/engine \
    && /opt/uv/bin/uv pip sync --quiet --no-cache --require-hashes --no-build \
    --python /opt/engine/bin/python /locks/requirements-ml.txt

FROM uv AS engine-dl
COPY engine/requirements-dl.txt /locks/
RUN /opt/uv/bin/uv venv --quiet --no-cache --python /usr/bin/python3 /opt/engine \
    && /opt/uv/bin/uv pip sync --quiet --no-cache --require-hashes --no-build \
    --python /opt/engine/bin/python /locks/requirements-dl.txt

FROM uv AS engine-dl-cpu
COPY engine/requirements-dl-cpu.txt engine/mucast_engine/cpu_only.py /locks/
RUN /opt/uv/bin/uv venv --quiet --no-cache --python /usr/bin/python3 /opt/engine \
    && /opt/uv/bin/uv pip sync --quiet --no-cache --require-hashes --no-build \
    --python /opt/engine/bin/python /locks/requirements-dl-cpu.txt \
    && /opt/engine/bin/python -s -P /locks/cpu_only.py

FROM uv AS engine-ray
COPY engine/requirements-ray.txt /locks/
RUN /opt/uv/bin/uv venv --quiet --no-cache --python /usr/bin/python3 /opt/engine \
    && /opt/uv/bin/uv pip sync --quiet --no-cache --require-hashes --no-build \
    --python /opt/engine/bin/python /locks/requirements-ray.txt

# The package as npm would publish it, upon the dependencies of the lock.
FROM $NODE_IMAGE AS package
WORKDIR /source
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json CHANGELOG.md LICENSE README.md ./
COPY scripts/build.ts scripts/tree-commit.ts scripts/
COPY bin bin
COPY docs docs
COPY engine/mucast_engine engine/mucast_engine
COPY engine/requirements-ml.txt engine/requirements-dl.txt engine/requirements-dl-cpu.txt engine/requirements-ray.txt engine/requirements-uv.txt engine/
COPY examples/sp500-30 examples/sp500-30
COPY schemas schemas
COPY src src
COPY web web
# The full commit that is built, because the context has no `.git`.
ARG COMMIT
RUN MUCAST_COMMIT="$COMMIT" node scripts/build.ts && npm pack --ignore-scripts --pack-destination /tmp
WORKDIR /opt/mucast
RUN cp /source/package.json /source/package-lock.json . \
    && npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
    && tar --extract --gzip --strip-components=1 --file /tmp/mucast-*.tgz \
    && chmod 0755 bin/mucast.cjs

FROM system AS runtime
ARG VERSION
ARG COMMIT
ARG SOURCE
LABEL org.opencontainers.image.title=mucast \
    org.opencontainers.image.licenses=Apache-2.0 \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.revision="$COMMIT" \
    org.opencontainers.image.source="$SOURCE"
COPY --from=package /opt/mucast /opt/mucast
RUN ln -s /opt/mucast/bin/mucast.cjs /usr/local/bin/mucast \
    && install --directory --owner=node --group=node --mode=0700 /var/lib/mucast
ENV NODE_ENV=production \
    MUCAST_PYTHON=/opt/engine/bin/python \
    MUCAST_DATA_DIR=/var/lib/mucast
ENTRYPOINT ["tini", "--", "mucast"]
CMD ["serve"]
EXPOSE 8080
# Of the service; a container that runs a job is healthy. Kubernetes and Container Apps have probes of their own.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["node", "/opt/mucast/bin/healthcheck.cjs"]

FROM runtime AS ml
COPY --from=engine-ml /opt/engine /opt/engine
# Fails the build where a library does not load, and compiles what jobs import.
RUN mucast doctor
USER node
WORKDIR /var/lib/mucast

FROM runtime AS dl
COPY --from=engine-dl /opt/engine /opt/engine
RUN mucast doctor && /opt/engine/bin/python -c "import torch"
USER node
WORKDIR /var/lib/mucast

FROM runtime AS dl-cpu
COPY --from=engine-dl-cpu /opt/engine /opt/engine
RUN mucast doctor && /opt/engine/bin/python -c "import torch"
USER node
WORKDIR /var/lib/mucast

# One image for those who ask and for the nodes, so that engine, libraries and Python are the same. As a node it runs `ray start`,
# which refuses to start without a token.
FROM runtime AS ray
COPY --from=engine-ray /opt/engine /opt/engine
ENV PATH=/opt/engine/bin:$PATH \
    PYTHONPATH=/opt/mucast/engine \
    RAY_AUTH_MODE=token \
    RAY_USAGE_STATS_ENABLED=0 \
    GRPC_ENABLE_FORK_SUPPORT=0 \
    RAY_health_check_period_ms=1000 \
    RAY_health_check_timeout_ms=3000 \
    RAY_health_check_failure_threshold=5 \
    RAY_grpc_client_keepalive_time_ms=10000 \
    RAY_grpc_client_keepalive_timeout_ms=15000
RUN mucast doctor --ray && ray --version && python -c "import torch, ray.util.client, mucast_engine"
USER node
WORKDIR /var/lib/mucast
