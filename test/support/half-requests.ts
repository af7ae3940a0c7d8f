import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const post = (...headers: string[]) =>
  ['POST /query HTTP/1.1', 'Host: localhost', 'Content-Type: application/json', ...headers, '', ''].join(
    '\r\n',
  );
const LONG = 'Content-Length: 1000';
const HALF = '{"parts":[{"type":"text","text":"Hel';
const HALF_FILE = `{"parts":[{"type":"file","name":"a.bin","mimeType":"a/b","base64":"${'QUJD'.repeat(20)}`;

/**
 * Opens connections whose clients neither finish their request nor read their answer, and waits until the server has seen them.
 *
 * @param download the path of a file that is larger than what connections hold
 */
export async function holdHalfRequests(url: string, download: string): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const hold = async (text: string) => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  };
  const paused = await hold(`GET ${download} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await once(paused, 'readable');
  const waiting = await hold(post(LONG, 'Expect: 100-continue'));
  await once(waiting, 'readable');
  const dripping = await hold(post(LONG) + HALF);
  const timer = setInterval(() => dripping.write('a'), 50);
  dripping.once('close', () => clearInterval(timer));
  const others = [
    post(LONG) + HALF,
    post(LONG) + HALF_FILE,
    `GET /query HTTP/1.1\r\nHost: localhost\r\n\r\n${post(LONG)}${HALF}`,
  ];
  const sockets = [paused, waiting, dripping, ...(await Promise.all(others.map(hold)))];
  // What the server sends before it closes is not asked for.
  for (const socket of sockets) if (socket !== paused) socket.resume();
  return sockets;
}
