import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { PROMISES } from './promises.js';

const ROOT = resolve(import.meta.dirname, '..');

/** The tests of the interface: of the core, and of each package. */
const E2E = [
  'test/e2e',
  ...readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}/test/e2e`),
].filter((folder) => existsSync(join(ROOT, folder)));

/** The spec of the README checks what is published, not the interface. */
const OTHERS = ['readme.spec.ts'];

const DEFINE = /^(?:it|test|fit|xit|xtest)$/;
/** What leaves tests out. */
const EXCEPT = /^(?:fit|xit|xtest|fdescribe|xdescribe|only|skip|todo|failing)$/;

interface Findings {
  /** The promises that are cited, in order. */
  cited: string[];
  /** Sentences, each with the file and line. */
  faults: string[];
}

/** The first identifier of a chain of calls and members, such as `it` of `it.each(rows)`. */
function rootOf(expression: ts.Expression): ts.Identifier | undefined {
  if (ts.isIdentifier(expression)) return expression;
  if (ts.isCallExpression(expression) || ts.isPropertyAccessExpression(expression))
    return rootOf(expression.expression);
  return ts.isTaggedTemplateExpression(expression) ? rootOf(expression.tag) : undefined;
}

function findingsOf(name: string, text: string): Findings {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const findings: Findings = { cited: [], faults: [] };
  const report = (node: ts.Node, fault: string) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart());
    findings.faults.push(`${name}:${line + 1} ${fault}`);
  };
  const definers = new Set<ts.Node>();
  const cite = (call: ts.CallExpression) => {
    const [title] = call.arguments;
    if (!title || !ts.isCallExpression(title) || title.expression.getText() !== 'promise')
      return report(call, 'A test has a title that is not a call of promise().');
    const [id] = title.arguments;
    if (!id || !ts.isStringLiteral(id)) return report(title, 'The id of a promise must be a string literal.');
    if (!(id.text in PROMISES)) return report(title, `There is no promise "${id.text}".`);
    findings.cited.push(id.text);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const root = rootOf(node.expression);
      const isOutermost = !(ts.isCallExpression(node.parent) && node.parent.expression === node);
      if (root && DEFINE.test(root.text) && isOutermost) {
        definers.add(root);
        cite(node);
      }
    }
    if (ts.isIdentifier(node)) {
      const isMember = ts.isPropertyAccessExpression(node.parent) && node.parent.name === node;
      if (!isMember && DEFINE.test(node.text) && !definers.has(node))
        report(node, `"${node.text}" is used without being called, so that its tests cannot be found.`);
      const isOfSuite = () => isMember && /^(?:it|test|describe)\b/.test(node.parent.getText());
      if (EXCEPT.test(node.text) && (!isMember || isOfSuite()))
        report(node, `"${node.text}" leaves tests out.`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return findings;
}

describe('The promises of the interface', () => {
  const specs = E2E.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.spec.ts') && !OTHERS.includes(name))
      .map((name) => join(folder, name)),
  );
  const found = specs.map((name) => findingsOf(name, readFileSync(join(ROOT, name), 'utf8')));

  it('are cited by every e2e test, exactly one by each', () => {
    expect(found.flatMap(({ faults }) => faults)).toEqual([]);
  });

  it('have at least one e2e test each', () => {
    const cited = new Set(found.flatMap((each) => each.cited));
    expect(Object.keys(PROMISES).filter((id) => !cited.has(id))).toEqual([]);
  });

  it('are titles as they are, also in it.each', () => {
    // A placeholder of it.each in a sentence would take a value of the row.
    expect(Object.values(PROMISES).filter(({ sentence }) => sentence.includes('%'))).toEqual([]);
  });

  it.each([
    [`it(promise('resume.post', 'more'), () => undefined);`, ['resume.post'], []],
    [`it.each([[1]])(promise('resume.post'), () => undefined);`, ['resume.post'], []],
    [
      `it('resumes', () => undefined);`,
      [],
      ['a.spec.ts:1 A test has a title that is not a call of promise().'],
    ],
    [`test.each(rows)('%s', run);`, [], ['a.spec.ts:1 A test has a title that is not a call of promise().']],
    ['it.each`a`("x", run);', [], ['a.spec.ts:1 A test has a title that is not a call of promise().']],
    [`it(promise(id), run);`, [], ['a.spec.ts:1 The id of a promise must be a string literal.']],
    [`it(promise('no.such'), run);`, [], ['a.spec.ts:1 There is no promise "no.such".']],
    [
      `\ndefine(it);`,
      [],
      ['a.spec.ts:2 "it" is used without being called, so that its tests cannot be found.'],
    ],
    [`it.skip(promise('resume.post'), run);`, ['resume.post'], ['a.spec.ts:1 "skip" leaves tests out.']],
    [`describe.only('x', run);`, [], ['a.spec.ts:1 "only" leaves tests out.']],
  ])('are found in %j', (text, cited, faults) => {
    expect(findingsOf('a.spec.ts', text)).toEqual({ cited, faults });
  });
});
