import { suggestionsOf } from './suggestions.js';

describe('Suggestions of a service', () => {
  it.each([null, [], { items: 1 }, { items: [] }, { items: [null, { text: 1 }, { label: 'no text' }] }])(
    'are left out where they have another form: %j',
    (data) => {
      expect(suggestionsOf([{ type: 'suggestions', data }])).toEqual([]);
    },
  );

  it('are those of the newest envelope', () => {
    const of = (...items: unknown[]) => ({ type: 'suggestions', data: { items } });
    const envelopes = [
      of({ text: 'a' }),
      of({ text: 'b' }, { text: 'c', files: [{}] }),
      { type: 'log', data: {} },
    ];
    expect(suggestionsOf(envelopes)).toEqual([{ text: 'b' }]);
  });
});
