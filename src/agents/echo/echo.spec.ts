import { contextOf, queryOf } from '../../testing/index.js';
import { echo } from './index.js';

it('The agent of a service without another one says what has arrived, and how to get more', async () => {
  const file = { name: 'cities.csv', mimeType: 'text/csv', content: 'id,city\n1,Rome\n' };
  const query = await queryOf(['Hello', file]);
  let answer = '';
  for await (const { data } of echo(query, await contextOf()) as AsyncIterable<{ data: { content: string } }>)
    answer += data.content;
  expect(answer).toMatch(
    /^This has arrived:\n\n- a text of 5 characters: "Hello"\n- the file "cities.csv": text\/csv, 15 bytes\n\nNobody looks into it/,
  );
  expect(answer).toContain('`npm install nest-agent-query-files`');
});
