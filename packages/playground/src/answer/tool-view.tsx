import { Icon } from '../icons.js';
import type { Turn } from '../state/turn.js';
import { shownJson } from '../text.js';
import type { ToolUse } from './answer-view.js';
import { commandOf, outputOf } from './call-files.js';
import { Diffs } from './diff-view.js';

/** What has become of a call. One that needs an answer of a person does not run meanwhile. */
function stateOf({ id, name, arguments: given, result }: ToolUse, { isLive, openRequests }: Turn): string {
  if (result) return result.isError ? 'failed' : 'done';
  const waits = openRequests.some(
    ({ request }) =>
      request.toolCallId === id ||
      (request.name === name &&
        (request.arguments === undefined || JSON.stringify(request.arguments) === JSON.stringify(given))),
  );
  if (waits) return 'waits for you';
  return isLive ? 'running…' : 'no result';
}

/** A call of a tool, and what came of it. */
export function ToolView({ use, turn }: { use: ToolUse; turn: Turn }) {
  const { name, title, places = [], arguments: given, result } = use;
  return (
    <details class={`aside tool ${result?.isError ? 'with-error' : ''}`}>
      <summary>
        <Icon name="tool" />
        <code>{name}</code> {title !== undefined && <span class="what">{title}</span>}{' '}
        <span class="state">{stateOf(use, turn)}</span>
      </summary>
      {given !== undefined && (
        <>
          <h3>Call</h3>
          <CallDetails use={use} />
        </>
      )}
      {places.length > 0 && (
        <>
          <h3>Files</h3>
          <ul class="places">
            {places.map((place) => (
              <li key={place}>
                <code>{place}</code>
              </li>
            ))}
          </ul>
        </>
      )}
      {result && (
        <>
          <h3>{result.isError ? 'Error' : 'Result'}</h3>
          <Result use={use} content={result.content} />
        </>
      )}
    </details>
  );
}

/** What a call does: the changes of files and the command, where there are any, or its arguments. */
export function CallDetails({ use: { isCommand, diffs = [], arguments: given } }: { use: ToolUse }) {
  const command = isCommand ? commandOf(given) : undefined;
  const isPlain = command === undefined && diffs.length === 0;
  const all = shownJson(given);
  if (isPlain) return <pre tabindex={0}>{all}</pre>;
  // A command alone is all that there is.
  const hasMore = diffs.length > 0 || Object.keys(given as object).length > 1;
  return (
    <>
      {command !== undefined && (
        <pre class="command" tabindex={0}>
          {command}
        </pre>
      )}
      <Diffs diffs={diffs} />
      {hasMore && all !== '{}' && (
        <details class="aside">
          <summary>All arguments</summary>
          <pre tabindex={0}>{all}</pre>
        </details>
      )}
    </>
  );
}

/** The output of a command as it was written, and what else there is. */
function Result({ use: { isCommand }, content }: { use: ToolUse; content: unknown }) {
  const output = isCommand ? outputOf(content) : undefined;
  if (!output) return <pre tabindex={0}>{shownJson(content)}</pre>;
  const rest = shownJson(output.rest);
  return (
    <>
      <pre tabindex={0}>{output.text}</pre>
      {rest !== '{}' && <pre tabindex={0}>{rest}</pre>}
    </>
  );
}
