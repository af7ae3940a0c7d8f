import { useEffect, useState } from 'preact/hooks';
import { Icon } from './icons.js';
import { copyText } from './copy-text.js';

/** Copies a text, and says so for a moment. */
export function CopyButton({ name, text }: { name: string; text: () => string }) {
  const [isCopied, setCopied] = useState<boolean>();
  useEffect(() => {
    if (isCopied === undefined) return;
    const timer = setTimeout(() => setCopied(undefined), 2000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <button type="button" class="plain small" onClick={() => void copyText(text()).then(setCopied)}>
      <Icon name={isCopied ? 'done' : 'copy'} />
      <span class="word">{isCopied === undefined ? name : isCopied ? 'Copied' : 'Not copied'}</span>
    </button>
  );
}
