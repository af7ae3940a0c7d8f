/** A column of a table of docs/proxies.md: its heading, and what its cells may say, with the meaning of each. */
export interface Column {
  heading: string;
  words: Record<string, string>;
}

const REFUSAL = {
  early: 'the 413 of the service arrives while the body is sent',
  'after the body': 'the 413 of the service arrives when all of the body is sent',
  'its own': 'the proxy refuses the body itself, with a page of its own',
  lost: 'the connection or the stream is closed, and the 413 of the service does not arrive',
  none: 'over HTTP/2 only: the proxy has none, or was not tried with it',
};

/** What is measured of a proxy, in the order of the table. `N` stands for a number. */
export const PROXY_COLUMNS: Record<string, Column> = {
  first: {
    heading: 'First event',
    words: {
      'at once': 'events arrive one by one, most of them within 0.1 s',
      late: 'events arrive one by one, most of them about 0.2 s late',
      'only at the end': 'nothing arrives before the answer is complete',
    },
  },
  idle: {
    heading: 'Idle cut',
    words: {
      'N s': 'an answer is cut when nothing was sent for so long; the service sends a keep-alive every 4 s',
      '> N s': 'an answer is not cut within this time; a longer silence was not tried',
    },
  },
  body: {
    heading: '30 MB body',
    words: {
      passes: 'it reaches the service while it is sent',
      collected: 'it reaches the service when the proxy has all of it',
      'refused over N MiB': 'the proxy refuses a larger one with 413, and the service never learns of it',
    },
  },
  refusal: { heading: 'Early refusal', words: REFUSAL },
  refusal2: { heading: 'Over HTTP/2', words: REFUSAL },
  leaving: {
    heading: 'Leaving client',
    words: {
      'at once': 'the service learns within a second that the client has gone',
      'with keep-alives': 'the service learns it when it has sent one, two or three more keep-alives',
      never: 'the service does not learn it',
    },
  },
  dying: {
    heading: 'Process dies',
    words: {
      'a cut': 'the client sees that the connection was closed before the end of the answer',
      'a clean end': 'the answer looks complete: only its missing last event shows that it is not',
      'no end': 'the client waits on, for 20 s and longer',
    },
  },
  credential: {
    heading: '`Authorization`',
    words: {
      arrives: 'the service gets the header',
      removed: 'the proxy removes the header; `X-API-Key` arrives',
    },
  },
};

const RESTART = {
  'nothing lost': 'it is away for 2 s; the answer goes on, and each event arrives once',
  'no answer': 'the answer does not end within a minute',
  'events lost': 'the answer has a gap or a repetition',
  none: 'not tried: the service does not start',
};

/** What is measured of a pooler. */
export const POOLER_COLUMNS: Record<string, Column> = {
  starts: {
    heading: 'Service starts',
    words: {
      yes: 'it is ready, as with Postgres itself',
      'with a warning': 'it is ready, and its log says what does not work',
      no: 'it ends, and says why',
    },
  },
  follower: {
    heading: 'Follower at another process',
    words: {
      'at once': 'most events arrive within 0.15 s',
      late: 'events arrive in groups, most of them later than that, some up to 5 s',
      none: 'not tried: the service does not start',
    },
  },
  restart: {
    heading: 'Pooler restarts in mid-answer',
    words: RESTART,
  },
  server: { heading: 'Postgres restarts', words: RESTART },
};

/** Between what is seen without the settings, and with them. */
export const ARROW = ' → ';

/** What a cell says that its column does not have. */
export function unknownWords(column: Column, cell: string): string[] {
  return cell.split(ARROW).filter((text) => !Object.hasOwn(column.words, text.replace(/\d+/g, 'N')));
}
