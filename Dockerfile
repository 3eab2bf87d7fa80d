# docker build -t transferlint .
# docker run --rm --volume "$PWD:/src:ro" transferlint check
FROM python:3.13-slim AS build
WORKDIR /build
COPY . .
RUN python -m pip wheel --no-cache-dir --wheel-dir /wheels .

FROM python:3.13-slim
# git is for `check --diff-base`. Debian keeps one version of it at a time, so that a pinned one is soon gone.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --no-install-recommends --yes git \
    && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory /src \
    && useradd --create-home --uid 10001 transferlint
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    python -m pip install --no-cache-dir --no-index /wheels/*.whl
USER 10001
WORKDIR /src
ENTRYPOINT ["transferlint"]
CMD ["check"]
