import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cpuOf } from '../measure/processes.mjs';

/** A helper process of the benchmark, controlled by messages. Its cost is counted apart from the system's. */
export class Assistant {
  #child;
  #asked = new Map();
  #next = 1;

  constructor(program) {
    this.#child = fork(fileURLToPath(new URL(program, import.meta.url)), { serialization: 'advanced' });
    this.#child.on('message', ({ ask, answer, error }) => {
      const { resolve, reject } = this.#asked.get(ask);
      this.#asked.delete(ask);
      if (error === undefined) resolve(answer);
      else reject(new Error(error));
    });
    this.#child.once('exit', (code) => {
      for (const { reject } of this.#asked.values()) reject(new Error(`${program} ended with ${code}`));
    });
  }

  get pid() {
    return this.#child.pid;
  }

  cpu() {
    return cpuOf(this.pid);
  }

  ask(what, input = {}) {
    return new Promise((resolve, reject) => {
      const ask = this.#next;
      this.#next += 1;
      this.#asked.set(ask, { resolve, reject });
      this.#child.send({ ask, what, input });
    });
  }

  stop() {
    this.#child.kill();
  }
}

/** The other end: the assistant's functions, by name. */
export function serve(methods) {
  process.on('message', async ({ ask, what, input }) => {
    try {
      process.send({ ask, answer: await methods[what](input) });
    } catch (error) {
      process.send({ ask, error: error.stack });
    }
  });
  process.on('disconnect', () => process.exit());
}
