# Untested: the steps were run in a bare Debian, not by Docker.
#
#   docker build -t allreplay .
#   docker run --rm allreplay compare --profile resnet50_k80_b16 --cluster k80-10gbe --workers 64
FROM debian:bookworm AS build
COPY . /src
WORKDIR /src
RUN tools/setup.sh --with packages && cmake --preset release -DALLREPLAY_TESTS=OFF && cmake --build --preset release \
 && cd build/release && cpack

FROM debian:bookworm-slim
COPY --from=build /src/build/release/*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/allreplay_*.deb /tmp/python3-allreplay_*.deb \
 && rm -rf /tmp/*.deb /var/lib/apt/lists/*
ENTRYPOINT ["allreplay"]
