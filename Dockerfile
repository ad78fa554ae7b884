# Builds the programs with a Swift toolchain, and runs them on a Debian without one:
#   docker build -t renderhost .
#   docker run --rm -p 8080:8080 -v "$PWD/dist:/srv/bundles:ro" renderhost
# deploy/compose.yml runs it with a store that stays, and a gateway. What draws pages, for --pictures, is in the image of
#   docker build -t renderhost --build-arg PICTURES=yes .
FROM swift:6.2-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends make git python3
WORKDIR /source
COPY . .
RUN make release && make install DESTDIR=/installed PREFIX=/usr

FROM debian:bookworm-slim
ARG PICTURES=
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl libbrotli1 libcurl4 \
    libjavascriptcoregtk-4.1-0 libnats3.4 libnghttp2-14 libsqlite3-0 libssl3 libstdc++6 libxml2 libzstd1 zlib1g \
    ${PICTURES:+libpangocairo-1.0-0 libturbojpeg0 libwebp7 libgif7 librsvg2-2 libisal2 fonts-noto-cjk fonts-noto-color-emoji} \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --home-dir /var/lib/renderhost --create-home renderhost
COPY --from=build /installed/ /
USER renderhost
EXPOSE 8080
# Ready when a release is served and pages can run. The first release may take a while to come.
HEALTHCHECK --start-period=5m --interval=10s --timeout=5s CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8080/readyz"]
# Pages and administration stay within the container.
ENTRYPOINT ["/usr/bin/renderhost", "--store", "/var/lib/renderhost"]
CMD ["--bundles", "/srv/bundles", "--listen", "0.0.0.0:8080", "--admin-listen", "127.0.0.1:9090"]
