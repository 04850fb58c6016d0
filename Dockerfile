# syntax=docker/dockerfile:1

# The first build compiles Temporal, which the binary has in it for
# `deerflow dev`, and takes some minutes; the caches make later ones short.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=dev
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X main.version=${VERSION}" -o /out/deerflow ./cmd/deerflow

FROM debian:bookworm-slim
# bash and the usual tools are for the commands of the agent, curl also for the
# health check.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bash ca-certificates curl git python3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --create-home deerflow \
    && install --directory --owner=deerflow --group=deerflow --mode=0700 /data
COPY --from=build /out/deerflow /usr/local/bin/deerflow
USER 10001:10001
WORKDIR /home/deerflow
ENV DEERFLOW_DATA_DIR=/data
# Commands that are run in the api container find its server.
ENV DEERFLOW_SERVER=http://127.0.0.1:2026
VOLUME /data
EXPOSE 2026
STOPSIGNAL SIGTERM
ENTRYPOINT ["deerflow"]
CMD ["--help"]
