# Builds the programs with a Swift toolchain, and runs them on a Debian without one:
#   docker build -t renderhost .
#   docker run --rm -p 8080:8080 -v "$PWD/dist:/srv/bundles:ro" renderhost
FROM swift:6.2-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends make git
WORKDIR /source
COPY . .
RUN make release && make install DESTDIR=/installed PREFIX=/usr

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libbrotli1 libcurl4 \
    libjavascriptcoregtk-4.1-0 libnats3.4 libsqlite3-0 libssl3 libstdc++6 libxml2 libzstd1 zlib1g && rm -rf /var/lib/apt/lists/* \
  && useradd --system --home-dir /var/lib/renderhost --create-home renderhost
COPY --from=build /installed/ /
USER renderhost
EXPOSE 8080
# Pages and administration stay within the container.
ENTRYPOINT ["/usr/bin/renderhost", "--store", "/var/lib/renderhost"]
CMD ["--bundles", "/srv/bundles", "--listen", "0.0.0.0:8080", "--admin-listen", "127.0.0.1:9090"]
