# docker build -t allreplay .
# docker run --rm allreplay compare --profile resnet50_k80_b16 --cluster k80-10gbe --workers 64
# docker run --rm -v "$PWD:/work" allreplay run --profile mine.json --cluster k80-10gbe --strategy ddp --timeline t.svg
FROM docker.io/library/debian:bookworm AS build
WORKDIR /src
COPY tools/setup.sh tools/common.sh tools/
RUN tools/setup.sh --with packages
COPY . .
RUN cmake --preset release -DALLREPLAY_TESTS=OFF && cmake --build --preset release && cd build/release && cpack

FROM docker.io/library/debian:bookworm-slim
COPY --from=build /src/build/release/allreplay_*.deb /src/build/release/python3-allreplay_*.deb /tmp/
RUN apt-get update \
 && apt-get install -y --no-install-recommends /tmp/allreplay_*.deb /tmp/python3-allreplay_*.deb fonts-dejavu-core \
 && rm -rf /tmp/*.deb /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["allreplay"]
CMD ["--help"]
