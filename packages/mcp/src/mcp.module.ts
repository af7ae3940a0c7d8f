import { Controller, type ControllerOptions, type DynamicModule, Module, type Type } from '@nestjs/common';
import { Endpoints } from 'nest-agent-query/protocol';
import { McpController } from './mcp.controller.js';
import { MEMBERS, type McpOptions, OPTIONS } from './mcp-options.js';
import { AgentTools, checkTools } from './tools.js';
import { refuseUnknown } from 'nest-agent-query/agents';

const JSON_BODY = { 'application/json': { schema: { type: 'object' } } };

const mcpPaths = (prefix = '') => ({
  [`${prefix}/mcp`]: {
    post: {
      operationId: `post${prefix}/mcp`.replace(/[^\w-]+/g, '_'),
      summary: 'Send a message of the Model Context Protocol, such as a call of a tool',
      tags: ['mcp'],
      requestBody: { required: true, content: JSON_BODY },
      responses: {
        200: {
          description: 'The answer.',
          content: { ...JSON_BODY, 'text/event-stream': { schema: { type: 'string' } } },
        },
        202: { description: 'A notification was taken.' },
        default: { description: 'A refusal.', content: JSON_BODY },
      },
    },
  },
});

/**
 * A server of the Model Context Protocol, in the versions 2026-07-28 and 2025-11-25: each agent of the application is a tool.
 *
 * @example
 * @Module({ imports: [QueryModule.forRoot({ handler: MyHandler }), McpModule.forRoot()] })
 * class AppModule {}
 */
@Module({})
export class McpModule {
  /** Returns its routes at the paths of the defaults, after a prefix such as `/api`: the `paths` of an OpenAPI document. */
  static readonly paths = mcpPaths;

  /** @throws {TypeError} an option is unknown, or a tool has no valid name */
  static forRoot(options: McpOptions = {}): DynamicModule {
    refuseUnknown('McpModule', options, MEMBERS);
    const { version, host, decorators = [], tools = [{}], ttlMs = 3_600_000 } = options;
    const path = (options.path ?? 'mcp').replace(/^\/+|\/+$/g, '');
    checkTools(tools);
    class MountedController extends McpController {}
    const all = [...decorators.toReversed(), Controller({ path, version, host } as ControllerOptions)];
    return {
      module: McpModule,
      controllers: [Reflect.decorate(all, MountedController) as Type],
      providers: [AgentTools, Endpoints, { provide: OPTIONS, useValue: { ...options, path, tools, ttlMs } }],
    };
  }
}
