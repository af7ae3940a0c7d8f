/**
 * The document of the endpoint through `@nestjs/swagger`: `nest-agent-query/openapi`. Nothing else loads that package.
 *
 * WARNING: hosts depend on every name below, as on those of the package root.
 */
export { describeQueryModules } from './describe-query-modules.js';
