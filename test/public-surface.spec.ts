import { resolve } from 'node:path';
import ts from 'typescript';
import * as aiSdk from '../packages/ai-sdk/src/index.js';
import * as langGraph from '../packages/langgraph/src/index.js';
import * as model from '../packages/ai-sdk/src/model/index.js';
import * as mastra from '../packages/mastra/src/index.js';
import * as openAIAgents from '../packages/openai-agents/src/index.js';
import * as remote from '../src/agents/remote/index.js';
import * as access from '../src/access/index.js';
import * as client from '../packages/client/src/index.js';
import * as command from '../src/agents/command/index.js';
import * as playground from '../src/playground/index.js';
import * as diagnostic from '../src/agents/diagnostic/index.js';
import * as root from '../src/index.js';
import * as openapi from '../src/openapi/index.js';
import * as stores from '../src/stores/index.js';
import * as workers from '../packages/bullmq/src/index.js';
import * as telemetry from '../src/telemetry/index.js';
import * as testing from '../src/testing/index.js';

/** Entry points, each with at least so many names, types included. */
const DOCUMENTED = [
  ['index.ts', 50],
  ['access/index.ts', 10],
  ['agents/ai-sdk/index.ts', 6],
  ['agents/command/index.ts', 3],
  ['agents/diagnostic/index.ts', 1],
  ['agents/langgraph/index.ts', 6],
  ['agents/model/index.ts', 8],
  ['agents/mastra/index.ts', 5],
  ['agents/openai-agents/index.ts', 5],
  ['agents/remote/index.ts', 2],
  ['client/index.ts', 20],
  ['openapi/index.ts', 1],
  ['playground/index.ts', 2],
  ['telemetry/index.ts', 10],
  ['testing/index.ts', 20],
] as const;

/** Hosts depend on every name below. To add one is a promise to keep it; to remove or rename one is a major version. */
describe('The public surface', () => {
  it('of the package root is these names', () => {
    expect(Object.keys(root).sort()).toEqual([
      'AgentHandler',
      'AgentService',
      'CORS_OPTIONS',
      'DEFAULT_BODY_LIMITS',
      'Dispatcher',
      'FilePartDto',
      'FileStore',
      'InjectAgent',
      'MAX_READ_BYTES',
      'MEMORY_RETENTION_DEFAULTS',
      'MemoryRunStore',
      'QueryDto',
      'QueryError',
      'QueryModule',
      'RUN_DEFAULTS',
      'RunStore',
      'RunTracer',
      'STREAM_DEFAULTS',
      'Signals',
      'TextPartDto',
      'file',
      'fileBytes',
      'fileDataUrl',
      'fileText',
      'fileType',
      'getAgentToken',
      'isImageFile',
      'isTextFile',
      'log',
      'message',
      'newestText',
      'progress',
      'reasoning',
      'source',
      'toolCall',
      'toolResult',
      'usage',
    ]);
  });

  it('of the adapter of the AI SDK is this name', () => {
    expect(Object.keys(aiSdk)).toEqual(['fromAiSdk']);
  });

  it('of the agent model is these names', () => {
    expect(Object.keys(model).sort()).toEqual(['mcpServersOf', 'modelHandler']);
  });

  it('of the adapters of LangGraph, OpenAI Agents and Mastra is one name each', () => {
    expect([langGraph, openAIAgents, mastra].map((adapter) => Object.keys(adapter))).toEqual([
      ['fromLangGraph'],
      ['fromOpenAIAgents'],
      ['fromMastra'],
    ]);
  });

  it('of the page is this name', () => {
    expect(Object.keys(playground)).toEqual(['PlaygroundModule']);
  });

  it('of the client is these names', () => {
    expect(Object.keys(client).sort()).toEqual(['AgentQueryClient', 'AgentQueryError']);
  });

  it('of the remote agent is this name', () => {
    expect(Object.keys(remote)).toEqual(['remoteHandler']);
  });

  it('of the stores is these names', () => {
    expect(Object.keys(stores).sort()).toEqual(['DEFAULT_DATABASE_URL', 'openStore', 'postgresPool']);
  });

  it('of the access is these names', () => {
    expect(Object.keys(access).sort()).toEqual([
      'AccessGuard',
      'AccessModule',
      'AccessRefusal',
      'CONNECTION_DEFAULTS',
      'CONNECTION_RANGES',
      'PublicRoute',
      'RateLimitGuard',
      'RateLimitModule',
      'addSecurityHeaders',
      'apiKeysOf',
      'createApiKey',
      'limitConnections',
      'ownerOf',
      'readKeysFile',
    ]);
  });

  it('of the agent command is these names', () => {
    expect(Object.keys(command).sort()).toEqual(['checkCommand', 'commandHandler']);
  });

  it('of the agent diagnostic is this name', () => {
    expect(Object.keys(diagnostic)).toEqual(['diagnosticHandler']);
  });

  it('of the workers is these names', () => {
    expect(Object.keys(workers).sort()).toEqual(['DEFAULT_QUEUE_NAME', 'openDispatcher']);
  });

  it('of the document is this name', () => {
    expect(Object.keys(openapi)).toEqual(['describeQueryModules']);
  });

  it('of the telemetry is these names', () => {
    expect(Object.keys(telemetry).sort()).toEqual([
      'HealthController',
      'Metrics',
      'MetricsModule',
      'MetricsServer',
      'QueryHealthIndicator',
      'QueryLog',
      'QueryMetrics',
      'VersionController',
      'openTracer',
    ]);
  });

  it('of the tools for tests is these names', () => {
    expect(Object.keys(testing).sort()).toEqual([
      'Clock',
      'ScriptedCall',
      'ScriptedHandler',
      'TestClock',
      'ask',
      'collect',
      'contextOf',
      'queryOf',
    ]);
  });

  it.each(DOCUMENTED)(
    'of %s has a docstring for every name, and an example for every value',
    (path, least) => {
      const index = resolve(import.meta.dirname, '../src', path);
      const program = ts.createProgram([index], { module: ts.ModuleKind.NodeNext, skipLibCheck: true });
      const checker = program.getTypeChecker();
      const exported = checker.getExportsOfModule(
        checker.getSymbolAtLocation(program.getSourceFile(index)!)!,
      );
      const found = exported.map((alias) => {
        const symbol = checker.getAliasedSymbol(alias);
        const isValue = (symbol.flags & ts.SymbolFlags.Value) !== 0;
        const hasExample = symbol.getJsDocTags(checker).some(({ name }) => name === 'example');
        const docstring = ts.displayPartsToString(symbol.getDocumentationComment(checker));
        return { name: symbol.name, isDocumented: docstring !== '', isShown: !isValue || hasExample };
      });
      expect(found.filter(({ isDocumented, isShown }) => !isDocumented || !isShown)).toEqual([]);
      expect(found.length).toBeGreaterThanOrEqual(least);
    },
  );
});
