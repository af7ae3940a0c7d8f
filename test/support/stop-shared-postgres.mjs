/** Jest's global tear-down: ends what `shared-postgres.mjs` has started. */
export default () => globalThis.stopSharedPostgres();
