import { marked } from 'marked';
import { repeats } from './repeated-list.js';

const SUGGESTIONS = ['count by city', 'select `a` from b', 'Sum'].map((text) => ({
  text,
  label: text === 'Sum' ? 'Add up' : undefined,
  files: [],
}));

describe('A list of an answer', () => {
  it.each([
    ['that are code', '- `count by city`\n- ``select `a` from b``'],
    ['that are texts', '1. Sum\n2. count by city'],
    ['with their labels', '* Add up'],
    ['with lines between them', '- Sum\n\n- `count by city`\n'],
  ])('repeats suggestions %s', (_, text) => {
    expect(repeats(marked.lexer(text)[0]!, SUGGESTIONS)).toBe(true);
  });

  it.each([
    ['one item more', '- Sum\n- Something else'],
    ['an explanation', '- `Sum`: adds all numbers'],
    ['a list in an item', '- Sum\n  - `count by city`'],
    ['no list', 'Sum'],
  ])('does not, with %s', (_, text) => expect(repeats(marked.lexer(text)[0]!, SUGGESTIONS)).toBe(false));

  it('does not without suggestions', () => expect(repeats(marked.lexer('- Sum')[0]!, [])).toBe(false));
});
