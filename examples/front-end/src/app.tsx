import { generateId, type UIMessage } from 'ai';
import { type FormEvent, useCallback, useEffect, useState } from 'react';
import { Chat } from './chat';

/** What the service has of a conversation. Undefined until it is loaded. */
type Earlier = { chatId: string; messages: UIMessage[] } | undefined;

/** Shows the login, or the conversation whose id is in the address. */
export function App() {
  const [user, setUser] = useState<string | null>();
  const [fault, setFault] = useState('');
  const [earlier, setEarlier] = useState<Earlier>();

  const load = useCallback(async () => {
    setEarlier(undefined);
    setFault('');
    try {
      setEarlier(await conversation());
    } catch (error) {
      setFault((error as Error).message);
    }
  }, []);

  useEffect(() => {
    void fetch('/user').then(async (response) => setUser(response.ok ? await response.text() : null));
  }, []);
  useEffect(() => {
    if (!user) return;
    void load();
    addEventListener('hashchange', load);
    return () => removeEventListener('hashchange', load);
  }, [user, load]);

  const logOut = async () => {
    await fetch('/logout', { method: 'POST' });
    // Nothing of this user stays in the page for the next one.
    location.assign('/');
  };

  if (user === undefined) return null;
  if (user === null) return <Login onUser={setUser} />;
  return (
    <>
      <header>
        <span id="user">{user}</span>
        <button onClick={() => (location.hash = generateId())}>New conversation</button>
        <button onClick={logOut}>Log out</button>
      </header>
      {fault && <p role="alert">{fault}</p>}
      {earlier && <Chat key={earlier.chatId} {...earlier} onReload={load} />}
    </>
  );
}

/** The conversation of the address. One that the service does not know is new. */
async function conversation(): Promise<Earlier> {
  if (location.hash === '') history.replaceState(null, '', `#${generateId()}`);
  const chatId = location.hash.slice(1);
  const response = await fetch(`/ai/chat/${encodeURIComponent(chatId)}`);
  if (response.status === 404) return { chatId, messages: [] };
  if (!response.ok) throw new Error(await response.text());
  const { messages } = (await response.json()) as { messages: UIMessage[] };
  return { chatId, messages };
}

function Login({ onUser }: { onUser: (name: string) => void }) {
  const [fault, setFault] = useState('');

  const logIn = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const { name, password } = Object.fromEntries(new FormData(event.currentTarget));
    const response = await fetch('/login', { method: 'POST', body: JSON.stringify({ name, password }) });
    if (response.ok) onUser(name as string);
    else setFault(await response.text());
  };

  return (
    <form className="login" onSubmit={logIn}>
      <input name="name" placeholder="Name" autoComplete="username" required />
      <input
        name="password"
        type="password"
        placeholder="Password"
        autoComplete="current-password"
        required
      />
      <button>Log in</button>
      {fault && <p role="alert">{fault}</p>}
    </form>
  );
}
