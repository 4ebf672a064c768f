import type { Logger } from '../../telemetry/log.ts';

/** Facts of the database about the keys that this process lacks. */
export interface KeysElsewhere {
  /** Ids of keys that stored texts need and this process does not have. */
  lacked: readonly string[];
  /** Whether another running process has one of them. */
  isElsewhere: boolean;
}

export interface KeyProblem {
  text: string;
  /**
   * Whether another running process has the key. If none has it,
   * the stored text is more likely wrong than this process.
   */
  isElsewhere: boolean;
}

/**
 * The queues whose jobs this process cannot read, because ENCRYPTION_KEY lacks their key. It claims nothing of them:
 * claims that can only be given back would take the slots of the queue from a process that has the key.
 */
export class MissingKeys {
  readonly #log: Pick<Logger, 'error' | 'info'>;
  readonly #look: () => Promise<KeysElsewhere>;
  /** The missing key by queue. */
  readonly #queues = new Map<string, string>();
  #isElsewhere = false;

  /** @param look reads which keys this process lacks, and whether another one has them */
  constructor(log: Pick<Logger, 'error' | 'info'>, look: () => Promise<KeysElsewhere>) {
    this.#log = log;
    this.#look = look;
  }

  /** A claimed job of the queue could not be read without the key. */
  note(queueId: string, keyId: string): void {
    const isNew = ![...this.#queues.values()].includes(keyId);
    this.#queues.set(queueId, keyId);
    if (!isNew) return;
    this.#log.error(
      { keyId },
      'ENCRYPTION_KEY of this process lacks a key: it claims nothing that needs it. Add the key, and restart the process',
    );
    // A failure is logged by the next round.
    this.look().catch(() => undefined);
  }

  has(queueId: string): boolean {
    return this.#queues.has(queueId);
  }

  /** For operators; null when no key is missing. */
  get problem(): KeyProblem | null {
    if (this.#queues.size === 0) return null;
    const keys = [...new Set(this.#queues.values())];
    const ofQueues = this.#queues.size === 1 ? '1 queue' : `${this.#queues.size} queues`;
    const text = `ENCRYPTION_KEY lacks ${keys.join(', ')}: nothing of ${ofQueues} is claimed`;
    return { text, isElsewhere: this.#isElsewhere };
  }

  /** Claims again what needs no missing key any more, as after a rotation of the secret. */
  async look(): Promise<void> {
    if (this.#queues.size === 0) return;
    const { lacked, isElsewhere } = await this.#look();
    this.#isElsewhere = isElsewhere;
    for (const [queueId, keyId] of this.#queues) if (!lacked.includes(keyId)) this.#queues.delete(queueId);
    if (this.#queues.size === 0) this.#log.info({}, 'no key is missing any more');
  }
}
