import type { Suggestion } from '../answer/suggestions.js';
import { focusMessage } from '../focus-message.js';
import { Icon } from '../icons.js';
import { readableName } from '../text.js';

interface Props {
  items: Suggestion[];
  /** Undefined while nothing can be sent. */
  onAsk: ((suggestion: Suggestion) => unknown) | undefined;
}

/** Requests that one click sends. */
export function Suggestions({ items, onAsk }: Props) {
  if (items.length === 0) return null;
  return (
    <ul class="suggestions" aria-label="Suggestions">
      {items.map((item, index) => (
        <li key={index}>
          <button
            type="button"
            class="secondary"
            title={item.text}
            disabled={!onAsk}
            onClick={() => {
              onAsk!(item);
              focusMessage();
            }}
          >
            <span class="label">{item.label ?? item.text}</span>
            {item.files.map(({ name }, at) => (
              <span key={at} class="with-file">
                <span class="unseen">with the file</span>
                <Icon name="file" />
                <span class="name">{readableName(name)}</span>
              </span>
            ))}
          </button>
        </li>
      ))}
    </ul>
  );
}
