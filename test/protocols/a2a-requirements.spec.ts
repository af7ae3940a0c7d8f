import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { REQUIREMENTS } from './a2a-requirements.js';
import { REQUIREMENTS_V0_3 } from './a2a-v0.3-requirements.js';

const SUITES = /^(?:a2a.*|service)\.spec\.ts$/;
/** The kit of 0.3 has names of tests. */
const NAME = /\btest_\w+/g;
const ID = /\b[A-Z][A-Z_]*(?:-[A-Z]+)*-\d{3}[a-z]?\b/g;

/** What the names of tests have in brackets, after the sentence: ids of requirements. */
const brackets = readdirSync(import.meta.dirname)
  .filter((name) => SUITES.test(name))
  .flatMap((name) => namesOfTests(readFileSync(join(import.meta.dirname, name), 'utf8')))
  .map((name) => /\[([^\]]*)\]/.exec(name)?.[1] ?? '');

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

describe.each([
  { version: '1.0', requirements: REQUIREMENTS, id: ID, counts: [129, 114] },
  { version: '0.3', requirements: REQUIREMENTS_V0_3, id: NAME, counts: [82, 58] },
])('The requirements of the test kit of A2A $version', ({ requirements, id, counts }) => {
  const cited = brackets.flatMap((text) => text.match(id) ?? []);

  it('are all here, with those that must be met', () => {
    const all = Object.values(requirements);
    expect([all.length, all.filter(({ level }) => level === 'MUST').length]).toEqual(counts);
  });

  it('are each cited by a test, or have a reason why they do not apply', () => {
    const open = Object.entries(requirements).filter(
      ([name, { unless }]) => !unless && !cited.includes(name),
    );
    expect(open).toEqual([]);
  });

  it('have no reason where a test cites them, and no test cites others', () => {
    const needless = Object.entries(requirements).filter(
      ([name, { unless }]) => unless && cited.includes(name),
    );
    expect(needless).toEqual([]);
    expect(cited.filter((name) => !Object.hasOwn(requirements, name))).toEqual([]);
  });
});
