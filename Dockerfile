FROM node:22-slim AS build
WORKDIR /app
COPY . .
RUN npm ci && npm run build
# The folders under packages/ that the image has besides: agents, adapters, a queue, as in "ai-sdk bullmq".
ARG PACKAGES=
RUN for folder in packages/*; do \
      case " cli client doctor files mcp modules more-files protocols ${PACKAGES:+adapters $PACKAGES} " in *" ${folder#packages/} "*) ;; *) rm -r "$folder" ;; esac; \
    done
# The lock file has the versions. The link to the core itself is for the packages, and prom-client for METRICS_PORT.
RUN npm pkg delete devDependencies \
    && npm pkg set dependencies.nest-agent-query=file:. "dependencies.prom-client=$(npm pkg get peerDependencies.prom-client | tr -d '"')" \
    && npm install --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:22-slim
ENV NODE_ENV=production HOST=0.0.0.0
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/packages ./packages
COPY --from=build /app/dist ./dist
# A volume that is mounted here takes over its owner.
RUN mkdir data && chown node data
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT || 3000) + '/health/ready').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]
