import type { LookupAddress } from 'node:dns';
import { allowance } from '../domain/fair-share.ts';

/** `dns.lookup` as the address guard calls it, so that tests can put their own answers in its place. */
export type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

type LookupCallback = Parameters<Lookup>[2];

/** `ENOTFOUND`: there is no such name, or it has no address. `EAI_AGAIN`: nobody could be asked, or nobody answered. */
export class NameLookupError extends Error {
  override readonly name = 'NameLookupError';
  readonly code: 'ENOTFOUND' | 'EAI_AGAIN';

  constructor(code: 'ENOTFOUND' | 'EAI_AGAIN') {
    super(code === 'ENOTFOUND' ? 'name not found' : 'name servers do not answer');
    this.code = code;
  }
}

/** Look-ups at once in a process. */
const MAX_LOOKUPS = 256;
/** How much of it one account may have (`allowance`): a fifth with nobody else there. */
const ACCOUNT_APPETITE = 0.25;
/** A look-up that has not begun after this has failed. */
const MAX_WAIT_MS = 3000;
/** How long failures are remembered, so that retries of a name that fails do not keep look-ups busy. */
const NOT_FOUND_MS = 5000;
const NO_ANSWER_MS = 2000;
/** Failures remembered. */
const MAX_FAILED = 10_000;

/** A name that is being looked up, or waits for that. */
interface Question {
  hostname: string;
  callbacks: LookupCallback[];
  /** Accounts that want the answer, as long as it waits. */
  accounts: Set<string>;
  giveUp: NodeJS.Timeout | null;
}

/**
 * Lets look-ups of one name that run at the same time share one question, and accounts share the look-ups of the process:
 * each waits for its own ones only. No address is remembered, because every connect has to judge a current answer
 * (S56); failures are, for some seconds.
 * @param account the account that looks the name up, asked when the look-up begins
 */
export function shareLookups(lookup: Lookup, account: () => string = () => ''): Lookup {
  const lookups = new SharedLookups(lookup);
  return (hostname, _options, callback) => lookups.ask(hostname, account(), callback);
}

class SharedLookups {
  readonly #lookup: Lookup;
  readonly #questions = new Map<string, Question>();
  /** By account, in the order of their turns. A question that several want is in the line of each. */
  readonly #waiting = new Map<string, Set<Question>>();
  /** Look-ups under way, by account. */
  readonly #used = new Map<string, number>();
  readonly #failed = new Map<string, { error: NodeJS.ErrnoException; until: number }>();
  #free = MAX_LOOKUPS;

  constructor(lookup: Lookup) {
    this.#lookup = lookup;
  }

  ask(hostname: string, account: string, callback: LookupCallback): void {
    const failed = this.#failed.get(hostname);
    if (failed !== undefined && failed.until > performance.now()) {
      process.nextTick(callback, failed.error, []);
      return;
    }
    let question = this.#questions.get(hostname);
    if (question === undefined) {
      question = { hostname, callbacks: [], accounts: new Set(), giveUp: null };
      question.giveUp = setTimeout(() => this.#giveUp(hostname), MAX_WAIT_MS);
      this.#questions.set(hostname, question);
    }
    question.callbacks.push(callback);
    if (question.giveUp === null || question.accounts.has(account)) return;
    question.accounts.add(account);
    const waiting = this.#waiting.get(account);
    if (waiting === undefined) this.#waiting.set(account, new Set([question]));
    else waiting.add(question);
    this.#startNext();
  }

  #startNext(): void {
    for (let hasStarted = true; hasStarted && this.#free > 0; ) {
      hasStarted = false;
      for (const [account, waiting] of [...this.#waiting]) {
        const [question] = waiting;
        if (question === undefined || !this.#mayStart(account)) continue;
        this.#start(question, account);
        hasStarted = true;
      }
    }
  }

  #mayStart(account: string): boolean {
    if (this.#free < 1) return false;
    const used = this.#used.get(account) ?? 0;
    return used === 0 || allowance(this.#free, used, ACCOUNT_APPETITE) >= 1;
  }

  #start(question: Question, account: string): void {
    this.#leaveLine(question);
    this.#free -= 1;
    this.#used.set(account, (this.#used.get(account) ?? 0) + 1);
    this.#lookup(question.hostname, { all: true }, (error, addresses) => {
      this.#free += 1;
      const used = (this.#used.get(account) ?? 1) - 1;
      if (used === 0) this.#used.delete(account);
      else this.#used.set(account, used);
      if (error !== null) this.#remember(question.hostname, error);
      this.#answer(question, error, addresses);
      this.#startNext();
    });
  }

  #giveUp(hostname: string): void {
    const question = this.#questions.get(hostname) as Question;
    this.#leaveLine(question);
    this.#answer(question, new NameLookupError('EAI_AGAIN'), []);
  }

  #leaveLine(question: Question): void {
    clearTimeout(question.giveUp ?? undefined);
    question.giveUp = null;
    for (const account of question.accounts) {
      const waiting = this.#waiting.get(account);
      waiting?.delete(question);
      if (waiting?.size === 0) this.#waiting.delete(account);
    }
  }

  #answer(question: Question, error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    this.#questions.delete(question.hostname);
    for (const callback of question.callbacks) callback(error, addresses);
  }

  #remember(hostname: string, error: NodeJS.ErrnoException): void {
    // Behind those that were remembered before.
    this.#failed.delete(hostname);
    if (this.#failed.size >= MAX_FAILED) this.#failed.delete(this.#failed.keys().next().value as string);
    const until = performance.now() + (error.code === 'ENOTFOUND' ? NOT_FOUND_MS : NO_ANSWER_MS);
    this.#failed.set(hostname, { error, until });
  }
}
