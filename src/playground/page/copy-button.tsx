import { useEffect, useState } from 'preact/hooks';
import { Icon } from './icons.js';
import { copyText } from './text.js';

/** Copies a text, and says so for a moment. */
export function CopyButton({ name, text }: { name: string; text: () => string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <button
      type="button"
      class="plain small"
      onClick={() => void copyText(text()).then(() => setCopied(true))}
    >
      <Icon name={isCopied ? 'done' : 'copy'} />
      {isCopied ? 'Copied' : name}
    </button>
  );
}
