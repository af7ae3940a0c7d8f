import { memo } from 'preact/compat';
import { useState } from 'preact/hooks';
import type { Conversation } from '../state/conversation.js';
import type { Turn } from '../state/turn.js';
import { RequestCard } from '../requests/request-card.js';
import { counted } from '../text.js';
import { AnswerFile } from './answer-file.js';
import { useStore } from '../state/store.js';
import { highlighting } from './highlight.js';
import { isTable } from './frame-table.js';
import { type Block, htmlOf, MarkdownBlocks } from './markdown.js';
import { PlanView } from './plan-view.js';
import { tableCharts } from './table-charts.js';
import { ToolView } from './tool-view.js';

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
            return <ToolView key={key} use={item} turn={turn} />;
          case 'plan':
            return <PlanView key={key} entries={item.entries} />;
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
