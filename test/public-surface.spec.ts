import { resolve } from 'node:path';
import ts from 'typescript';
import * as root from '../src/index.js';
import * as stores from '../src/stores/index.js';

const INDEX = resolve(import.meta.dirname, '../src/index.ts');

/** Hosts depend on every name below. To add one is a promise to keep it; to remove or rename one is a major version. */
describe('The public surface', () => {
  it('of the package root is these names', () => {
    expect(Object.keys(root).sort()).toEqual([
      'AgentHandler',
      'AgentService',
      'DEFAULT_BODY_LIMITS',
      'FilePartDto',
      'FileStore',
      'InjectAgent',
      'MEMORY_RETENTION_DEFAULTS',
      'MemoryRunStore',
      'QueryDto',
      'QueryError',
      'QueryModule',
      'RUN_DEFAULTS',
      'RunStore',
      'STREAM_DEFAULTS',
      'TextPartDto',
      'getAgentToken',
      'log',
      'message',
    ]);
  });

  it('of the stores is these names', () => {
    expect(Object.keys(stores).sort()).toEqual(['DEFAULT_DATABASE_URL', 'openStore']);
  });

  it('has a docstring for every name, and an example for every value', () => {
    const program = ts.createProgram([INDEX], { module: ts.ModuleKind.NodeNext, skipLibCheck: true });
    const checker = program.getTypeChecker();
    const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(INDEX)!)!);
    const found = exported.map((alias) => {
      const symbol = checker.getAliasedSymbol(alias);
      const isValue = (symbol.flags & ts.SymbolFlags.Value) !== 0;
      const hasExample = symbol.getJsDocTags(checker).some(({ name }) => name === 'example');
      const docstring = ts.displayPartsToString(symbol.getDocumentationComment(checker));
      return { name: symbol.name, isDocumented: docstring !== '', isShown: !isValue || hasExample };
    });
    expect(found.filter(({ isDocumented, isShown }) => !isDocumented || !isShown)).toEqual([]);
    expect(found.length).toBeGreaterThan(50);
  });
});
