import { rowsIn } from './matrix/proxies/table.js';
import { AGENTS } from './real-agents/agents.js';
import { CASES, isExplained, SUMMARY, unknownWordsIn } from './real-agents/table.js';
import { read } from './support/documents.js';

const page = read('docs/coding-agents.md');

/** The versions of the manifest. */
const { dependencies, devDependencies } = JSON.parse(read('test/real-agents/package.json')) as Record<
  string,
  Record<string, string>
>;
const versions = { ...dependencies, ...devDependencies };

describe('The tables of coding agents', () => {
  it('have the agents that are executed, in their order, with the versions of the manifest', () => {
    expect(rowsIn(page, SUMMARY).map(([name, version]) => [name, version])).toEqual(
      AGENTS.map(({ name, packageName }) => [name, versions[packageName]]),
    );
    const executed = new Set(rowsIn(page, CASES).map(([name]) => name));
    expect(AGENTS.filter(({ name, isFurther }) => !isFurther && !executed.has(name))).toEqual([]);
  });

  it('have words in their cells that the page explains', () => {
    expect(unknownWordsIn(page)).toEqual([]);
    expect(isExplained(page)).toBe(true);
  });

  it('show no agent that executes unasked or twice, or that leaves a process', () => {
    const wrong = rowsIn(page, CASES).filter((cells) =>
      cells.some((cell) => /^(?:unasked|executed|shared|left|processes)$/.test(cell)),
    );
    expect(wrong).toEqual([]);
  });
});
