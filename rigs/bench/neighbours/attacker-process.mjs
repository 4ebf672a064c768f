import { setPriority } from 'node:os';
import { Assistant } from '../load/assistant.mjs';

/** Lower than normal: on machines of their own attackers would take no processor time from the service. */
const PRIORITY = 10;

/** An attack in a process of its own. */
export class Attacker {
  #assistant;
  #attack;
  #input;
  #stopped = null;

  static async start(attack, input) {
    const attacker = new Attacker();
    attacker.#assistant = new Assistant('../neighbours/attacker.mjs');
    setPriority(attacker.#assistant.pid, PRIORITY);
    attacker.#attack = attack;
    attacker.#input = input;
    return attacker;
  }

  /** Makes queues and whatever the attack needs before it begins. */
  prepare() {
    return this.#assistant.ask('prepare', { attack: this.#attack, ...this.#input });
  }

  attack() {
    void this.#assistant.ask('attack').catch(() => undefined);
  }

  /** Ends it; resolves with how many requests were answered with which status. */
  stop() {
    this.#stopped ??= this.#assistant.ask('stop').then((counts) => {
      this.#assistant.stop();
      return counts;
    });
    return this.#stopped;
  }
}
