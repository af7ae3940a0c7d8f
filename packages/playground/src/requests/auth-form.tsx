import type { FormProps } from './form-props.js';

/** Asks a person to sign in elsewhere. */
export function AuthForm({ request: { url = '' }, onSend, isSending }: FormProps) {
  const isWeb = /^https?:/i.test(url) && URL.canParse(url);
  return (
    <>
      {isWeb ? (
        <p>
          <a href={url} target="_blank" rel="noopener noreferrer">
            Sign in at {new URL(url).host}
            <span class="unseen"> (opens a new tab)</span>
          </a>
        </p>
      ) : (
        <p class="fault">The page opens no address of this kind: {url}</p>
      )}
      <div class="decide">
        <button type="button" class="primary" aria-disabled={isSending} onClick={() => onSend({})}>
          {isSending ? 'Sending…' : 'I have signed in'}
        </button>
      </div>
    </>
  );
}
