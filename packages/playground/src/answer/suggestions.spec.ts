import type { AnswerEnvelope } from 'nest-agent-query-client';
import { AnswerView } from './answer-view.js';
import { suggestionsOf } from './suggestions.js';

const FILE = { name: 'a.csv', mimeType: 'text/csv', base64: 'YSxi' };

describe('The suggestions of an answer', () => {
  it('have a text, a label and files', async () => {
    const [plain, full] = suggestionsOf({
      items: [{ text: 'Count' }, { text: 'Sum', label: 'Add up', files: [FILE] }],
    });
    expect(plain).toEqual({ text: 'Count', label: undefined, files: [] });
    const { files, ...others } = full!;
    expect(others).toEqual({ text: 'Sum', label: 'Add up' });
    expect(files).toEqual([{ name: 'a.csv', mimeType: 'text/csv', size: 3, content: expect.any(Blob) }]);
    expect(await files[0]!.content.text()).toBe('a,b');
  });

  it.each([
    ['no list', { items: 'Count' }],
    ['no data', {}],
    ['no text', { items: [null, 1, 'Count', {}, { text: 1 }, { text: ' ' }] }],
    ['files that are no list', { items: [{ text: 'Count', files: 'a.csv' }] }],
    ['a file that is none', { items: [{ text: 'Count', files: [FILE, null] }] }],
    ['a file without a content', { items: [{ text: 'Count', files: [{ ...FILE, base64: undefined }] }] }],
    ['a content that is no base64', { items: [{ text: 'Count', files: [{ ...FILE, base64: '%' }] }] }],
  ])('are left out: %s', (_, data) => expect(suggestionsOf(data)).toEqual([]));

  it('are 8 at most', () => {
    const items = Array.from({ length: 9 }, (_, index) => ({ text: `${index}` }));
    expect(suggestionsOf({ items }).map(({ text }) => text)).toEqual([...'01234567']);
  });

  it('are those of its last envelope, and void after a restart before it', () => {
    const view = new AnswerView();
    const add = (seq: number, type: string, data: object) => view.add(seq, { type, data } as AnswerEnvelope);
    const texts = () => view.suggestions.map(({ text }) => text);
    add(1, 'suggestions', { items: [{ text: 'One' }] });
    add(2, 'suggestions', { items: [{ text: 'Two' }] });
    expect(texts()).toEqual(['Two']);
    add(3, 'restarted', { attempt: 2, from: 1 });
    expect(texts()).toEqual(['One']);
    add(4, 'restarted', { attempt: 3, from: 0 });
    expect(texts()).toEqual([]);
  });
});
