import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/** The model of a test, over a connection with one question and one answer a line. */
export class Model {
  #waiting = new Map();
  #count = 0;

  static async connected(port) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Model(socket);
  }

  constructor(socket) {
    this.socket = socket;
    createInterface({ input: socket }).on('line', (line) => {
      const { id, ...answer } = JSON.parse(line);
      this.#waiting.get(id)(answer);
      this.#waiting.delete(id);
    });
  }

  /** Begins a step. */
  async ask(request) {
    await this.#answer({ request });
  }

  /** The next act of the step; undefined at its end. */
  async next() {
    const { act } = await this.#answer({ next: true });
    return act;
  }

  execute(tool, args) {
    return this.#ask({ tool, arguments: args });
  }

  abort() {
    this.#write({ abort: true });
  }

  async #answer(question) {
    const answer = await this.#ask(question);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }

  #ask(question) {
    const id = this.#count++;
    const answer = new Promise((resolve) => this.#waiting.set(id, resolve));
    this.#write({ id, ...question });
    return answer;
  }

  #write(message) {
    this.socket.write(`${JSON.stringify(message)}\n`);
  }
}
