import { dirname, resolve } from 'node:path';
import ts from 'typescript';

const ROOT = resolve(import.meta.dirname, '..');

/**
 * The values of every entry point. Hosts depend on every name: to add one is a promise to keep it; to remove or rename one is a
 * major version.
 */
const ENTRIES: Record<string, string[]> = {
  'src/access/index.ts': [
    'AccessGuard',
    'AccessModule',
    'AccessRefusal',
    'CONNECTION_DEFAULTS',
    'PublicRoute',
    'RateLimitGuard',
    'RateLimitModule',
    'addSecurityHeaders',
    'apiKeysOf',
    'createApiKey',
    'limitConnections',
    'ownerOf',
    'readKeysFile',
  ],
  'packages/a2a/src/index.ts': ['a2aHandler'],
  'packages/acp/src/index.ts': ['checkAcp', 'fromAcp'],
  'packages/claude-agent/src/index.ts': ['fromClaudeAgent'],
  'packages/adapters/src/index.ts': [
    'DistinctCalls',
    'Folders',
    'MARKER',
    'ModelGate',
    'ProcessRecord',
    'StepGate',
    'adapterSettings',
    'answerSteps',
    'callId',
    'callerResult',
    'cutModel',
    'decisionOf',
    'distinctCalls',
    'endProcesses',
    'environmentOf',
    'estimateTextTokens',
    'fileName',
    'keepSteps',
    'leftoversEnded',
    'makeFolder',
    'modelFailure',
    'modelUsage',
    'notExecuted',
    'openTurns',
    'plainTextOf',
    'promptMessages',
    'questionKey',
    'readConversation',
    'shownPath',
    'shownResult',
    'stateDirectory',
    'stepMessages',
    'threadOf',
    'toolFailure',
    'withoutFolder',
  ],
  'src/agents/index.ts': [
    'HandedOver',
    'MODEL_NUMBERS',
    'TEMPERATURES',
    'isInRange',
    'jittered',
    'linesForLog',
    'newProcessDirectory',
    'rangeText',
    'refuseUnknown',
    'removeAbandonedDirectories',
    'settlesWithin',
    'stackForLog',
    'textForLog',
    'withoutSecrets',
  ],
  'src/agents/command/index.ts': [
    'ProcessGroup',
    'ProcessSlots',
    'ProgramLog',
    'checkCommand',
    'commandHandler',
  ],
  'src/agents/diagnostic/index.ts': ['diagnosticAgent', 'diagnosticHandler'],
  'src/agents/remote/index.ts': [
    'askHere',
    'failures',
    'patientRetries',
    'remoteHandler',
    'remoteSettings',
    'repeated',
    'traceHeaders',
  ],
  'src/index.ts': [
    'AgentHandler',
    'AgentService',
    'CORS_OPTIONS',
    'DEFAULT_BODY_LIMITS',
    'DeliveryStore',
    'Dispatcher',
    'FilePartDto',
    'FileStore',
    'InjectAgent',
    'InputStore',
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
    'UploadStore',
    'file',
    'fileBytes',
    'fileDataUrl',
    'fileText',
    'fileType',
    'getAgentToken',
    'isApproved',
    'isImageFile',
    'isTextFile',
    'log',
    'message',
    'newestText',
    'progress',
    'reasoning',
    'result',
    'source',
    'suggestions',
    'toolCall',
    'toolResult',
    'UsageStore',
    'usage',
  ],
  'packages/mcp/src/index.ts': ['McpModule'],
  'packages/protocols/src/a2a/index.ts': ['A2aModule', 'faultsOfCard'],
  'packages/protocols/src/ag-ui/index.ts': ['AgUiModule'],
  'packages/openapi/src/index.ts': ['describeQueryModules'],
  'src/playground/index.ts': ['PlaygroundModule'],
  'packages/protocols/src/openai/index.ts': ['OpenAiModule'],
  'src/protocol/index.ts': [
    'AskedRequests',
    'DataUrl',
    'Endpoint',
    'Endpoints',
    'EventStream',
    'JsonPieces',
    'LogTexts',
    'SHAPES',
    'STATUS_OF_CODE',
    'StreamForm',
    'StreamsEnvelopes',
    'SubmitsQueries',
    'cursorOf',
    'framesOfText',
    'hasLeft',
    'header',
    'heldLength',
    'holdAnswer',
    'idempotencyKeyOf',
    'invalidQuery',
    'joinedPieces',
    'pathAsSent',
    'piecesOf',
    'placesOf',
    'rawRequest',
    'rawResponse',
    'takeResponse',
    'usageSum',
  ],
  'src/store-rules/index.ts': [
    'USAGE_DAYS',
    'addTokens',
    'dayOf',
    'firstDayOf',
    'EXPIRED',
    'INTERRUPTED',
    'KEPT_LENGTH',
    'KeptAnswer',
    'UPLOAD_MS',
    'answersTo',
    'askedAt',
    'closedBy',
    'cursorExpired',
    'deliveryAgain',
    'doneText',
    'expiredOf',
    'expiresAt',
    'hasMetadata',
    'interrupted',
    'isRepeated',
    'newDeliveries',
    'pageFrom',
    'pageOf',
    'pageOfEnded',
    'pageOfTurns',
    'pausedAt',
    'placeOf',
    'recordOfAdmission',
    'refuseBehind',
    'refuseToAsk',
    'refuseToFork',
    'refuseToFollow',
    'refuseToReplace',
    'refuseToWait',
    'resolvedText',
    'restartedText',
    'runBusy',
    'runNotFound',
    'sessionBusy',
    'shownTurn',
    'supersedes',
    'titleOf',
    'triedDelivery',
    'turnOfRun',
    'unusedFilesExceeded',
  ],
  'src/stores/index.ts': ['DEFAULT_DATABASE_URL', 'openStore', 'postgresPool'],
  'src/telemetry/index.ts': [
    'HealthController',
    'Metrics',
    'MetricsModule',
    'MetricsServer',
    'QueryHealthIndicator',
    'QueryLog',
    'QueryMetrics',
    'VersionController',
    'openTracer',
  ],
  'src/testing/index.ts': [
    'Clock',
    'ScriptedCall',
    'ScriptedHandler',
    'TestClock',
    'ask',
    'collect',
    'contextOf',
    'queryOf',
  ],
  'packages/ai-sdk/src/index.ts': ['fromAiSdk'],
  'packages/ai-sdk/src/model/index.ts': ['mcpServersOf', 'modelHandler'],
  'packages/bullmq/src/index.ts': ['DEFAULT_QUEUE_NAME', 'openDispatcher'],
  'packages/cli/src/index.ts': ['commandLine', 'keysCommand', 'runCommand'],
  'packages/client/src/index.ts': ['AgentQueryClient', 'AgentQueryError'],
  'packages/client/src/streams.ts': [
    'AskedRequests',
    'EventReader',
    'QueryBody',
    'Retries',
    'beginningOf',
    'connectionLost',
    'eventParser',
    'isTransient',
    'refusalOf',
    'upTo',
    'usageSum',
  ],
  'packages/conformance/src/index.ts': [
    'CannotCheck',
    'EDITION',
    'LEVELS',
    'PROMISES',
    'checkConformance',
    'endpointOf',
    'jsonOfReport',
    'junitOfReport',
  ],
  'packages/doctor/src/index.ts': ['CHECKS', 'PROXIES', 'examine', 'jsonOfReport', 'remediesFor'],
  'packages/files/src/index.ts': ['FilesHandler', 'FilesLimits'],
  'packages/langgraph/src/index.ts': ['fromLangGraph'],
  'packages/mastra/src/index.ts': ['fromMastra'],
  'packages/modules/src/index.ts': ['EXIT_CODES', 'ModuleFailure', 'ModuleReloads', 'loadModule'],
  'packages/more-files/src/index.ts': ['UnreadableTableFile', 'readTableFile'],
  'packages/openai-agents/src/index.ts': ['fromOpenAIAgents'],
  'packages/protocols/src/ai-sdk/index.ts': ['AiSdkModule'],
  'packages/store-contract/src/index.ts': ['describeRunStore'],
};

interface Exported {
  name: string;
  isValue: boolean;
  isDocumented: boolean;
  hasExample: boolean;
}

/** Resolves what belongs to this repository only: the names and docstrings of the entries need nothing else. */
function resolveOwn(name: string, from: string): ts.ResolvedModuleFull | undefined {
  const [, , part, entry] = /^(nest-agent-query)(?:-([^/]+))?(?:\/(.+))?$/.exec(name) ?? [];
  const base = resolve(ROOT, part === undefined ? '' : `packages/${part}`, 'src');
  const paths = name.startsWith('.')
    ? [resolve(dirname(from), name.replace(/\.js$/, '.ts'))]
    : name.startsWith('nest-agent-query')
      ? [resolve(base, entry ?? '', 'index.ts'), resolve(base, `${entry}.ts`)]
      : [];
  const path = paths.find((each) => ts.sys.fileExists(each));
  return path !== undefined
    ? { resolvedFileName: path, extension: ts.Extension.Ts, isExternalLibraryImport: false }
    : undefined;
}

describe('The public surface', () => {
  const paths = Object.keys(ENTRIES).map((path) => resolve(ROOT, path));
  const options: ts.CompilerOptions = { module: ts.ModuleKind.NodeNext, noLib: true, types: [] };
  const host = ts.createCompilerHost(options);
  // What a file imports only for itself is not read: most files of the packages.
  host.resolveModuleNameLiterals = (literals, from, _redirected, _options, file) => {
    const exportsImports = file.statements.some(
      (each) => ts.isExportDeclaration(each) && each.moduleSpecifier === undefined,
    );
    return literals.map(({ text, parent }) => ({
      resolvedModule: exportsImports || ts.isExportDeclaration(parent) ? resolveOwn(text, from) : undefined,
    }));
  };
  const program = ts.createProgram(paths, options, host);
  const checker = program.getTypeChecker();

  const isTypeOnly = (symbol: ts.Symbol): boolean =>
    (symbol.declarations ?? []).some(
      (each) => ts.isExportSpecifier(each) && ts.isTypeOnlyExportDeclaration(each),
    ) ||
    ((symbol.flags & ts.SymbolFlags.Alias) !== 0 && isTypeOnly(checker.getImmediateAliasedSymbol(symbol)!));
  const exported = (path: string): Exported[] => {
    const entry = checker.getSymbolAtLocation(program.getSourceFile(resolve(ROOT, path))!)!;
    return checker.getExportsOfModule(entry).map((each) => {
      const symbol = each.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(each) : each;
      return {
        name: each.name,
        isValue: (symbol.flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(each),
        isDocumented: symbol.getDocumentationComment(checker).length > 0,
        hasExample: symbol.getJsDocTags(checker).some(({ name }) => name === 'example'),
      };
    });
  };

  it.each(Object.entries(ENTRIES))('of %s is %j', (path, names) => {
    const values = exported(path).filter(({ isValue }) => isValue);
    expect(values.map(({ name }) => name).sort()).toEqual([...names].sort());
  });

  it.each(Object.keys(ENTRIES))(
    'of %s has a docstring for every name, and an example for every value',
    (path) => {
      const wanting = exported(path).filter(
        (each) => !each.isDocumented || (each.isValue && !each.hasExample),
      );
      expect(wanting.map(({ name }) => name)).toEqual([]);
    },
  );
});
