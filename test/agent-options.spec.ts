import { acpSettings } from '../packages/acp/src/acp-options.js';
import { ROWS } from '../src/config/variables.js';
import { membersOf, tableRows } from './support/documents.js';

const quoted = (name: string) => `\`${name}\``;

/** The rows of the table of a document that has an option. */
function tableWith(document: string, option: string): string[][] {
  const rows = tableRows(document);
  const { heading } = rows.find(({ cells }) => cells[0] === quoted(option))!;
  return rows.filter((row) => row.heading === heading).map(({ cells }) => cells);
}

describe('The options of coding agents', () => {
  const acp = tableWith('docs/coding-agents.md', 'keepMs');

  it.each([
    ['fromAcp', acp, 'packages/acp/src/acp-options.ts', 'AcpOptions'],
    [
      'fromClaudeAgent',
      tableWith('docs/agents.md', 'ask'),
      'packages/claude-agent/src/claude-agent-options.ts',
      'ClaudeAgentOptions',
    ],
  ])('of %s are all in its table, and no others', (_, table, path, name) => {
    expect(table.map(([option]) => option).sort()).toEqual(membersOf(path, [name]).map(quoted).sort());
  });

  it('have their defaults and their variables there', () => {
    const settings = Object.entries(acpSettings({ command: 'agent' }));
    const plain = settings.filter(
      ([name, value]) =>
        ['string', 'number'].includes(typeof value) && !/^(?:command|directory|resumeText)$/.test(name),
    );
    expect(plain.length).toBeGreaterThan(8);
    const shown = plain.map(([name]) => [name, acp.find(([option]) => option === quoted(name))![2]]);
    expect(shown).toEqual(plain.map(([name, value]) => [name, quoted(`${value as string | number}`)]));
    const variables = acp.flatMap(([, variable]) => (variable!.startsWith('`') ? [variable!] : []));
    const known = ROWS.map(([name]) => quoted(name)).filter((name) => name.startsWith('`ACP_'));
    expect(variables.sort()).toEqual(known.sort());
  });
});
