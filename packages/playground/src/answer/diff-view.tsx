import type { FileDiff } from 'nest-agent-query-client';
import { useMemo } from 'preact/hooks';
import { counted } from '../text.js';
import { type ChangedLine, changedLines } from './text-lines.js';

/** So many lines of a file are shown. */
const LINES = 400;

const MARKS = { same: ' ', added: '+', removed: '−' };

/** What a call changes in files. */
export function Diffs({ diffs }: { diffs: FileDiff[] }) {
  return (
    <>
      {diffs.map((diff, index) => (
        <Diff key={index} diff={diff} />
      ))}
    </>
  );
}

function Diff({ diff: { path, oldText, newText, truncated } }: { diff: FileDiff }) {
  const lines = useMemo(() => changedLines(oldText, newText), [oldText, newText]);
  const count = (kind: ChangedLine['kind']) => lines.filter((line) => line.kind === kind).length;
  return (
    <figure class="diff">
      <figcaption>
        <code>{path}</code>
        <span class="state">
          {oldText === null && 'new file, '}+{count('added')} −{count('removed')}
        </span>
      </figcaption>
      <pre tabindex={0} aria-label={`Changes of ${path}`}>
        {lines.slice(0, LINES).map((line, index) => (
          <Line key={index} line={line} />
        ))}
      </pre>
      {(lines.length > LINES || truncated) && (
        <p class="quiet">
          {lines.length > LINES ? `${counted(lines.length - LINES, 'more line')}.` : ''}
          {truncated && ' The agent has sent only the beginning of this file.'}
        </p>
      )}
    </figure>
  );
}

function Line({ line }: { line: ChangedLine }) {
  if (line.kind === 'left-out')
    return <span class="left-out">{`${counted(line.count, 'unchanged line')}\n`}</span>;
  return (
    <span class={line.kind}>
      <span class="sign">{MARKS[line.kind]}</span>
      {`${line.text}\n`}
    </span>
  );
}
