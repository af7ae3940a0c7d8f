import { applicationName } from './application-name.js';
import { readCommandLine } from './command-line.js';

const RULE = 'Use lower-case letters, digits, "-", "_" and ".", such as "my-agent".';

describe('The command line', () => {
  it.each([
    [[], { folder: '.', name: undefined, packed: undefined, agent: 'model', isHelp: false }],
    [['a', '--name', 'b'], { folder: 'a', name: 'b', packed: undefined, agent: 'model', isHelp: false }],
    [['--name=b', 'a'], { folder: 'a', name: 'b', packed: undefined, agent: 'model', isHelp: false }],
    [
      ['a', '--packed', '../b'],
      { folder: 'a', name: undefined, packed: '../b', agent: 'model', isHelp: false },
    ],
    [['--agent', 'acp'], { folder: '.', name: undefined, packed: undefined, agent: 'acp', isHelp: false }],
    [['-h'], { folder: '.', name: undefined, packed: undefined, agent: 'model', isHelp: true }],
  ])('%j is read as %j', (parameters, read) => {
    expect(readCommandLine(parameters)).toEqual(read);
  });

  it.each([
    [['a', '--name'], "Option '--name <value>' argument missing. See --help."],
    [['a', '--help=yes'], "Option '-h, --help' does not take an argument. See --help."],
    [['a', '--nam', 'b'], "Unknown option '--nam'. See --help."],
    [['--agent', 'b'], 'There is no agent "b". Choose model or acp.'],
    [['a', 'b'], 'Name one folder, not 2: a, b.'],
    [[''], 'The folder has no name. Leave it out for the current folder.'],
  ])('%j is refused', (parameters, sentence) => {
    expect(() => readCommandLine(parameters)).toThrow(sentence);
  });
});

describe('The name of the application', () => {
  const dependencies = ['ai', 'nest-agent-query'];

  it.each([
    ['My Agent', 'my-agent'],
    ['Été', 'ete'],
    ['日本', 'agent'],
    ['..', 'agent'],
    ['_a b_', 'a-b_'],
    ['ai', 'ai-app'],
    ['node_modules', 'node_modules-app'],
    ['x'.repeat(230), 'x'.repeat(210)],
  ])('of the folder %s is %s', (folder, name) => {
    expect(applicationName(undefined, `/apps/${folder}`, dependencies)).toBe(name);
  });

  it.each(['shop', '@shop/orders', 'a.b_c-d', '1'])('%s is taken as it is', (name) => {
    expect(applicationName(name, '/apps/other', dependencies)).toBe(name);
  });

  it.each([
    ['Bad', `"Bad" is no name of a package. ${RULE}`],
    ['', `"" is no name of a package. ${RULE}`],
    ['../a', `"../a" is no name of a package. ${RULE}`],
    ['a\nb', `"a\\nb" is no name of a package. ${RULE}`],
    ['node_modules', `"node_modules" is no name of a package. ${RULE}`],
    ['x'.repeat(215), 'The name has 215 characters; it may have 214.'],
    ['ai', '"ai" is a package that the application needs. Choose another name.'],
  ])('%j is refused', (name, sentence) => {
    expect(() => applicationName(name, '/apps/other', dependencies)).toThrow(sentence);
  });
});
