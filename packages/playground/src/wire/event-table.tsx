import { useState } from 'preact/hooks';
import type { Exchange } from '../state/wire.js';
import { counted } from '../text.js';

/** How many events are drawn at first: the newest. */
const SHOWN = 200;

/** The events of a stream as they came. */
export function EventTable({ exchange: { events, dropped } }: { exchange: Exchange }) {
  const [most, setMost] = useState(SHOWN);
  const hidden = Math.max(0, events.length - most);
  return (
    <>
      {dropped > 0 && <p class="quiet">{counted(dropped, 'earlier event')} are no longer here.</p>}
      {hidden > 0 && (
        <button type="button" class="more" onClick={() => setMost(most + 1000)}>
          Show {counted(Math.min(hidden, 1000), 'earlier event')}
        </button>
      )}
      <div class="events" tabindex={0} role="region" aria-label="Events">
        <table>
          <thead>
            <tr>
              <th scope="col">Number</th>
              <th scope="col">Time</th>
              <th scope="col">Gap</th>
              <th scope="col">Data</th>
            </tr>
          </thead>
          <tbody>
            {events.slice(hidden).map(({ id, raw, atMs, gapMs }, index) => (
              <tr key={dropped + hidden + index} class={id === undefined ? 'no-event' : ''}>
                <td>{id?.split('.').at(-1) ?? ''}</td>
                <td>{Math.round(atMs).toLocaleString('en')} ms</td>
                <td>{Math.round(gapMs).toLocaleString('en')} ms</td>
                <td>
                  <code>{raw}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
