import { useState } from 'preact/hooks';
import { CopyButton } from '../copy-button.js';
import { Pairs } from '../pairs.js';
import type { Endpoint } from '../state/endpoints.js';
import { type ProtocolName, PROTOCOLS, protocolsOf } from '../state/protocols.js';
import { useStore } from '../state/store.js';
import type { Exchange, Wire } from '../state/wire.js';
import { counted, sizeOf } from '../text.js';
import { asClientCode } from './as-client-code.js';
import { asCurl } from './as-curl.js';
import { EventTable } from './event-table.js';

/** The requests of the page, and what came back. */
export function WireView({ wire, endpoint }: { wire: Wire; endpoint: Endpoint }) {
  const { exchanges: all, showsLists } = useStore(wire);
  const exchanges = showsLists ? all : all.filter((each) => !wire.isForList(each));
  const [chosen, setChosen] = useState<number>();
  // What matters to most is the newest query or stream.
  const exchange =
    exchanges.find(({ id }) => id === chosen) ??
    exchanges.findLast(({ events, method }) => events.length > 0 || method === 'POST') ??
    exchanges.at(-1);
  return (
    <div class="wire">
      <section class="exchanges" aria-label="Requests">
        <label class="switch">
          <input
            type="checkbox"
            role="switch"
            checked={showsLists}
            onChange={({ currentTarget }) => wire.showLists(currentTarget.checked)}
          />
          Lists of runs and conversations
        </label>
        <ol>
          {exchanges.toReversed().map((each) => (
            <li key={each.id}>
              <button
                type="button"
                aria-current={each === exchange ? 'true' : undefined}
                onClick={() => setChosen(each.id)}
              >
                <code class="method">{each.method}</code>
                <span class="path">{pathOf(each.url)}</span>
                <Status exchange={each} />
              </button>
            </li>
          ))}
        </ol>
        {exchanges.length > 0 && (
          <button type="button" class="more" onClick={() => wire.clear()}>
            Clear
          </button>
        )}
      </section>
      {exchange ? (
        <ExchangeView
          key={exchange.id}
          exchange={exchange}
          endpoint={endpoint}
          showAs={(protocol, run) => setChosen(wire.showAs(protocol, run))}
        />
      ) : (
        <p class="quiet wire-empty">No query yet. Ask something, and come back.</p>
      )}
    </div>
  );
}

function Status({ exchange: { status, fault } }: { exchange: Exchange }) {
  const isWrong = (status ?? 0) >= 400 || (status === undefined && fault !== undefined);
  return <span class={`status ${isWrong ? 'wrong' : ''}`}>{status ?? (fault ? 'failed' : '…')}</span>;
}

interface ExchangeProps {
  exchange: Exchange;
  endpoint: Endpoint;
  showAs: ShowAs;
}

function ExchangeView({ exchange, endpoint, showAs }: ExchangeProps) {
  const { method, url, headers, body, query, status, responseHeaders, events, text, fault, note, sent } =
    exchange;
  return (
    <section class="exchange" aria-label="Request">
      <header>
        <h2>
          <code>
            {method} {pathOf(url)}
          </code>
        </h2>
        <p class="facts">
          <Status exchange={exchange} /> {exchange.startedAt.toLocaleTimeString('en-GB')}
          {exchange.headMs !== undefined && ` · response after ${Math.round(exchange.headMs)} ms`}
          {exchange.endMs !== undefined && ` · ended after ${Math.round(exchange.endMs)} ms`}
          {exchange.bytes > 0 && ` · ${sizeOf(exchange.bytes)}`}
        </p>
        <div class="turn-tools">
          <CopyButton name="Copy as curl" text={() => asCurl(exchange)} />
          {exchange.protocol === undefined && (
            <CopyButton name="Copy as client code" text={() => asClientCode(exchange, endpoint)} />
          )}
          {exchange.run !== undefined && <ProtocolChoice run={exchange.run} showAs={showAs} />}
        </div>
      </header>
      {fault !== undefined && <p class="fault">{fault}</p>}
      {note !== undefined && <p class="quiet">{note}</p>}
      <details>
        <summary>Request</summary>
        <Pairs pairs={headers} />
        {body !== undefined && <pre tabindex={0}>{indented(body)}</pre>}
        {query && <pre tabindex={0}>{bodyOf(query)}</pre>}
        {sent && (
          <p class="quiet">
            Sent {sizeOf(sent.done)}
            {sent.total ? ` of ${sizeOf(sent.total)}` : ''}.
          </p>
        )}
      </details>
      {status !== undefined && responseHeaders.length > 0 && (
        <details>
          <summary>Response headers</summary>
          <Pairs pairs={responseHeaders} />
        </details>
      )}
      {events.length > 0 && <EventTable exchange={exchange} />}
      {text !== '' && <pre tabindex={0}>{indented(text)}</pre>}
    </section>
  );
}

type ShowAs = (protocol: ProtocolName, run: string) => void;

/** Shows the run of a request as the clients of other protocols get it: with a request of its own. */
function ProtocolChoice({ run, showAs }: { run: string; showAs: ShowAs }) {
  const protocols = protocolsOf(document);
  if (protocols.length === 0) return null;
  return (
    <select
      aria-label="Show the run as"
      value=""
      onChange={({ currentTarget: { value } }) => showAs(value as ProtocolName, run)}
    >
      <option value="">Show as …</option>
      {protocols.map((name) => (
        <option key={name} value={name}>
          {PROTOCOLS[name].label}
        </option>
      ))}
    </select>
  );
}

function bodyOf({ text, files, kwargs }: NonNullable<Exchange['query']>): string {
  const parts = [
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...files.map(({ name, mimeType, size }) => ({
      type: 'file',
      name,
      mimeType,
      base64: `… ${counted(size, 'byte')}`,
    })),
  ];
  return JSON.stringify({ parts, kwargs }, undefined, 2);
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), undefined, 2);
  } catch {
    return json;
  }
}

function pathOf(url: string): string {
  const { pathname, search } = new URL(url, location.href);
  return pathname + search;
}
