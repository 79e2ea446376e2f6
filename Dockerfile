FROM node:22-bookworm-slim
WORKDIR /app

COPY package.json package-lock.json ./
RUN npm ci --omit=dev && npm cache clean --force
# Before the image's own: the exact Node that package.json pins.
ENV PATH=/app/node_modules/.bin:$PATH

COPY migrations migrations
COPY src src

# Where demo.json, uploads and, without DATABASE_URL, the embedded Postgres go.
RUN mkdir -p /data/uploads && chown -R node:node /data
USER node
ENV HOST=0.0.0.0 PORT=8080 PARLEY_DATA_DIR=/data
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=3 CMD \
  ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# Not through npm: signals reach the gateway itself.
CMD ["node", "--max-semi-space-size=32", "src/main.ts", "start"]
