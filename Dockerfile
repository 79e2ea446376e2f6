# The exact Node that package.json pins (test/start/image.test.ts compares them).
FROM node:22.23.3-trixie-slim AS tools
WORKDIR /app

COPY package.json package-lock.json ./
COPY packages packages
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY bin bin
COPY src src
COPY LICENSE LICENSE
# The package of the SDK is made with tools that the image does not have.
RUN npm run build

FROM node:22.23.3-trixie-slim AS build
WORKDIR /app

COPY package.json package-lock.json ./
COPY packages packages
# Without scripts: the one of the package "node" would install a second Node. Without optional packages: the embedded
# Postgres, and the compilers that some packages would use if they were there.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund
# Addons for other systems and other Nodes, source maps and type declarations: 180 MB that nothing here reads.
RUN find node_modules/uWebSockets.js -name '*.node' \
    ! -name "*_$(node -p '[process.platform, process.arch, process.versions.modules].join("_")').node" -delete
RUN find node_modules -type f '(' -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' ')' -delete

COPY bin bin
COPY docs/operations.md docs/
COPY migrations migrations
COPY src src
COPY --from=tools /app/packages/client/npm/dist/served packages/client/npm/dist/served
COPY --from=tools /app/packages/console/dist packages/console/dist
COPY --from=tools /app/packages/widget/dist packages/widget/dist
# Fails here rather than at a start if something is missing, and keeps what makes a start quick, which the user of the
# image could not write. With the flags of CMD: code that was compiled with others does not serve.
RUN node --max-semi-space-size=32 --heap-growing-percent=200 --v8-pool-size=1 -e \
    'require("./bin/quick-load.cjs").loadQuickly(); Promise.all([import("./src/app/app.ts"), import("@parley/mail-reader/read-mail.ts")]).then(() => process.exit())' \
    && node bin/parley.cjs admin --help

FROM debian:trixie-slim
WORKDIR /app
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /app .

# Where demo.json and uploads go. The embedded Postgres is not in the image: it needs DATABASE_URL.
RUN useradd --uid 1000 --no-create-home parley && mkdir -p /data/uploads && chown -R parley:parley /data
USER parley
ENV HOST=0.0.0.0 PORT=8080 PARLEY_DATA_DIR=/data
EXPOSE 8080
# By the shell: a Node for it would cost more than what it asks. Plain HTTP: with PARLEY_TLS_CERT set another one is needed.
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=3 CMD \
  ["bash", "-c", "exec 3<>\"/dev/tcp/127.0.0.1/$PORT\" && printf 'GET /readyz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]

# Not through npm: signals reach the gateway itself.
CMD ["node", "--max-semi-space-size=32", "--heap-growing-percent=200", "--v8-pool-size=1", "bin/parley.cjs", "start"]
