import { contextOf, type PartsInput, queryOf, type TurnInput } from 'nest-agent-query/testing';
import { promptOf, type PromptSettings } from './prompt.js';

const NOTES = { name: 'notes.md', mimeType: 'text/markdown', content: '# Notes' };
const BYTES = { name: 'a.bin', mimeType: 'application/octet-stream', content: new Uint8Array([0, 1, 2]) };
const DOT = {
  name: 'dot.png',
  mimeType: 'image/png',
  content: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]),
};

async function blocksOf(parts: PartsInput, settings: Partial<PromptSettings> = {}, turns: TurnInput[] = []) {
  const context = await contextOf({ turns });
  const { blocks } = await promptOf(await queryOf(parts), context, {
    capabilities: undefined,
    files: 'text',
    keepFile: ({ name }) => Promise.resolve(`/srv/project/${name}`),
    ...settings,
  });
  return blocks;
}

const LINK = { type: 'resource_link', uri: 'file:///srv/project/a.bin', name: 'a.bin', mimeType: 'application/octet-stream', size: 3 }; // prettier-ignore

describe('The prompt of a query', () => {
  it('has the parts in their order: text files as text, others as links to files that were written', async () => {
    expect(await blocksOf(['Read', NOTES, BYTES, 'both'])).toEqual([
      { type: 'text', text: 'Read' },
      { type: 'text', text: '<file name="notes.md" type="text/markdown">\n# Notes\n</file>' },
      LINK,
      { type: 'text', text: 'both' },
    ]);
  });

  it('has text files embedded only where the agent offers it, and where the operator wants it', async () => {
    const capabilities = { embeddedContext: true };
    const embedded = {
      type: 'resource',
      resource: { uri: 'attachment:notes.md', mimeType: 'text/markdown', text: '# Notes' },
    };
    expect(await blocksOf([NOTES, BYTES], { capabilities, files: 'embedded' })).toEqual([embedded, LINK]);
    for (const settings of [{ capabilities }, { files: 'embedded' as const }])
      expect(await blocksOf([NOTES], settings)).toMatchObject([{ type: 'text' }]);
  });

  it('has links to all files if the operator wants it', async () => {
    expect(await blocksOf([NOTES, BYTES], { files: 'link' })).toEqual([
      { ...LINK, uri: 'file:///srv/project/notes.md', name: 'notes.md', mimeType: 'text/markdown', size: 7 },
      LINK,
    ]);
  });

  it('has images as images where the agent offers it, and as links elsewhere', async () => {
    const image = { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' };
    expect(await blocksOf([DOT], { capabilities: { image: true } })).toEqual([image]);
    expect(await blocksOf([DOT])).toMatchObject([{ type: 'resource_link', name: 'dot.png' }]);
  });

  it('begins with the earlier turns for an agent that does not remember them', async () => {
    const call = { type: 'tool_call', data: { id: 'c', name: 'ls', arguments: { path: '.' } } };
    const result = { type: 'tool_result', data: { id: 'c', content: 'x'.repeat(3_000) } };
    const turns = [
      { question: ['Who am I?', NOTES], answer: 'Ada' },
      { question: 'Look', answer: [call, result, { type: 'message', data: { content: 'Seen' } }] },
    ];
    const { history } = await contextOf({ turns });
    const [first, second] = await blocksOf('And now?', { history }, turns);
    expect(second).toEqual({ type: 'text', text: 'And now?' });
    const { text } = first as { text: string };
    expect(text).toMatch(
      /^You do not remember this conversation\..*\n\nThe user: Who am I\?\n<file name="notes\.md"/,
    );
    expect(text).toMatch(
      /\n\nYou: Ada\n\nThe user: Look\n\n.*You: Seen\n\nGo on with what the user says now:$/s,
    );
    expect(text).toMatch(/\[You called ls with {"path":"\."}\. The result was "x{1999}…\]/);
  });
});
