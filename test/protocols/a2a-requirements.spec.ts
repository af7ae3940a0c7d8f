import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { REQUIREMENTS } from './a2a-requirements.js';

const SUITES = /^(?:a2a.*|service)\.spec\.ts$/;
const ID = /\b[A-Z][A-Z_]*(?:-[A-Z]+)*-\d{3}[a-z]?\b/g;

/** The ids in the names of tests: in brackets, after the sentence. */
const cited = readdirSync(import.meta.dirname)
  .filter((name) => SUITES.test(name))
  .flatMap((name) => namesOfTests(readFileSync(join(import.meta.dirname, name), 'utf8')))
  .flatMap((name) => [...(/\[([^\]]*)\]/.exec(name)?.[1]?.match(ID) ?? [])]);

function namesOfTests(source: string): string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    const [first] = ts.isCallExpression(node) ? node.arguments : [];
    const isTest = ts.isCallExpression(node) && /^it\b(?!\.skip|\.only)/.test(node.expression.getText());
    if (isTest && first && ts.isStringLiteralLike(first)) names.push(first.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('a2a.ts', source, ts.ScriptTarget.Latest, true));
  return names;
}

describe('The requirements of the test kit of A2A 1.0', () => {
  it('are 129, of which 114 must be met', () => {
    const all = Object.values(REQUIREMENTS);
    expect([all.length, all.filter(({ level }) => level === 'MUST').length]).toEqual([129, 114]);
  });

  it('are each cited by a test, or have a reason why they do not apply', () => {
    const open = Object.entries(REQUIREMENTS).filter(([id, { unless }]) => !unless && !cited.includes(id));
    expect(open).toEqual([]);
  });

  it('have no reason where a test cites them, and no test cites others', () => {
    const needless = Object.entries(REQUIREMENTS).filter(([id, { unless }]) => unless && cited.includes(id));
    expect(needless).toEqual([]);
    expect(cited.filter((id) => !Object.hasOwn(REQUIREMENTS, id))).toEqual([]);
  });
});
