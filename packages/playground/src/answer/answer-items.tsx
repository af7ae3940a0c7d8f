import { memo } from 'preact/compat';
import { useState } from 'preact/hooks';
import { Icon } from '../icons.js';
import type { Conversation } from '../state/conversation.js';
import type { Turn } from '../state/turn.js';
import { RequestCard } from '../requests/request-card.js';
import { counted, shownJson } from '../text.js';
import type { ToolUse } from './answer-view.js';
import { AnswerFile } from './answer-file.js';
import { useStore } from '../state/store.js';
import { highlighting } from './highlight.js';
import { isTable } from './frame-table.js';
import { type Block, htmlOf, MarkdownBlocks } from './markdown.js';
import { tableCharts } from './table-charts.js';

/** What an answer consists of, in its order. */
export function AnswerItems({ turn, conversation }: { turn: Turn; conversation: Conversation }) {
  const { items, logs, sources, restarts } = turn.answer;
  return (
    <>
      {restarts > 0 && (
        <p class="quiet">The process of the agent ended. Another one has continued the answer.</p>
      )}
      {logs.length > 0 && <Logs logs={logs} isLive={turn.isLive} />}
      {items.map((item, index) => {
        // A restart makes other items: their keys differ.
        const key = `${restarts} ${index}`;
        const isLast = turn.isLive && index === items.length - 1;
        switch (item.kind) {
          case 'text':
            return (
              <Markdown key={key} text={item.text} isGrowing={turn.isLive} place={`${turn.runId} ${index}`} />
            );
          case 'reasoning':
            return <Reasoning key={key} text={item.text} isLast={isLast} />;
          case 'tool':
            return <Tool key={key} use={item} state={stateOf(item, turn)} />;
          case 'request':
            return <RequestCard key={key} turn={turn} asked={item} conversation={conversation} />;
          case 'result':
            return (
              <section key={key} class="result">
                <h3>Result</h3>
                <pre tabindex={0}>{JSON.stringify(item.value, undefined, 2)}</pre>
              </section>
            );
          case 'file':
            return <AnswerFile key={key} file={item.file} runId={turn.runId!} conversation={conversation} />;
        }
      })}
      {sources.length > 0 && (
        <section class="sources">
          <h3>Sources</h3>
          <ol>
            {sources.map(({ url, title }, index) => (
              <li key={index}>
                <SourceLink url={url} title={title} />
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

function SourceLink({ url, title }: { url: string; title: string | undefined }) {
  if (!/^https?:/i.test(url)) return <>{title ?? url}</>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer">
      {title ?? url}
    </a>
  );
}

/** So many blocks are drawn or left alone together: a long answer has thousands. */
const GROUP = 32;

interface MarkdownProps {
  text: string;
  isGrowing: boolean;
  /** Tells the texts of all answers apart, also after a reload. */
  place: string;
}

/** A text in Markdown that grows. */
function Markdown({ text, isGrowing, place }: MarkdownProps) {
  const [reader] = useState(() => new MarkdownBlocks());
  const hasColours = useStore(highlighting).isReady;
  const blocks = reader.of(text, isGrowing);
  const groups = Array.from({ length: Math.ceil(blocks.length / GROUP) }, (_, index) =>
    blocks.slice(index * GROUP, (index + 1) * GROUP),
  );
  return (
    <div class="markdown">
      {groups.map((group, index) => (
        <BlockGroup key={index} blocks={group} hasColours={hasColours} place={`${place} ${index}`} />
      ))}
    </div>
  );
}

interface GroupProps {
  blocks: Block[];
  hasColours: boolean;
  place: string;
}

const BlockGroup = memo(
  function BlockGroup({ blocks, hasColours, place }: GroupProps) {
    return (
      <div class="blocks">
        {blocks.map((block, index) => (
          <MarkdownBlock
            key={index}
            block={block}
            hasColours={hasColours && block.token.type !== 'paragraph'}
            place={`${place} ${index}`}
          />
        ))}
      </div>
    );
  },
  (before, after) =>
    before.hasColours === after.hasColours &&
    before.blocks.length === after.blocks.length &&
    before.blocks.every((block, index) => block === after.blocks[index]),
);

interface BlockProps {
  block: Block;
  hasColours: boolean;
  place: string;
}

const MarkdownBlock = memo(
  function MarkdownBlock({ block, place }: BlockProps) {
    const html = htmlOf(block);
    if (isTable(html)) return <Table html={html} place={place} />;
    return <div class="block" dangerouslySetInnerHTML={{ __html: html }} />;
  },
  (before, after) => before.block === after.block && before.hasColours === after.hasColours,
);

/** A table, and its chart where it has one. */
function Table({ html, place }: { html: string; place: string }) {
  const { component: Chart } = useStore(tableCharts);
  const [isChart, setChart] = useState(false);
  return (
    <div class="block with-chart">
      {Chart && <Chart html={html} place={place} onChart={setChart} />}
      <div class="block" hidden={isChart} dangerouslySetInnerHTML={{ __html: html }} />
    </div>
  );
}

function Reasoning({ text, isLast }: { text: string; isLast: boolean }) {
  return (
    <details class="aside">
      <summary>{isLast ? 'Thinking…' : 'Reasoning'}</summary>
      <p class="reasoning">{text}</p>
    </details>
  );
}

/** What has become of a call. One that needs an answer of a person does not run meanwhile. */
function stateOf({ name, arguments: given, result }: ToolUse, { isLive, openRequests }: Turn): string {
  if (result) return result.isError ? 'failed' : 'done';
  const waits = openRequests.some(
    ({ request }) =>
      request.name === name &&
      (request.arguments === undefined || JSON.stringify(request.arguments) === JSON.stringify(given)),
  );
  if (waits) return 'waits for you';
  return isLive ? 'running…' : 'no result';
}

function Tool({ use: { name, arguments: given, result }, state }: { use: ToolUse; state: string }) {
  return (
    <details class={`aside tool ${result?.isError ? 'with-error' : ''}`}>
      <summary>
        <Icon name="tool" />
        <code>{name}</code> <span class="state">{state}</span>
      </summary>
      {given !== undefined && (
        <>
          <h3>Call</h3>
          <pre tabindex={0}>{shownJson(given)}</pre>
        </>
      )}
      {result && (
        <>
          <h3>{result.isError ? 'Error' : 'Result'}</h3>
          <pre tabindex={0}>{shownJson(result.content)}</pre>
        </>
      )}
    </details>
  );
}

function Logs({ logs, isLive }: { logs: string[]; isLive: boolean }) {
  return (
    <details class="aside logs">
      <summary>
        <span class="newest">{isLive ? logs.at(-1) : counted(logs.length, 'log line')}</span>
      </summary>
      <ol>
        {logs.map((line, index) => (
          <li key={index}>{line}</li>
        ))}
      </ol>
    </details>
  );
}
