import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import type { NewClaim } from '../../db/delivery/claim-new.ts';
import { elapsedMs, type Moment, thisMoment } from '../moment.ts';
import { type Grant, IDENTITY, type LinkAddress, onMessages, type Refusal, send, TLS } from './messages.ts';

const CONNECT_MS = 2000;
/** A worker that has sent no grant for so long may have died or lost its lease lock. */
const PERMIT_MS = 1500;
/** How long a queue is left to claims after its worker has refused it. */
const REFUSED_MS = 10_000;
/** Refused queues that are remembered. */
const MAX_REFUSED = 10_000;
/** Bytes that wait to be sent, from which on nothing is handed over: the worker does not read. */
const MAX_UNSENT = 1024 * 1024;

/** A connection to a worker, from its first attempt to its end. */
export class LinkClient {
  readonly address: LinkAddress;
  readonly #onEnd: () => void;
  #socket: Socket | null = null;
  #grant: Grant & { at: Moment } = { permit: 0, jobs: 0, bytes: 0, at: { monotonic: 0, wall: 0 } };
  /** Handed over or reserved, in all. */
  readonly #used = { jobs: 0, bytes: 0 };
  #reservations = 0;
  #isEnding = false;
  readonly #refused = new Map<string, Moment>();

  /** @param onEnd called once, when the connection has ended or could not be made */
  constructor(address: LinkAddress, onEnd: () => void) {
    this.address = address;
    this.#onEnd = onEnd;
    this.#connect(0);
  }

  /** The permit for claims that are sent from now on. */
  get permit(): number {
    return this.#grant.permit;
  }

  /** Whether a statement that is sent now may claim for the worker. */
  get isOpen(): boolean {
    const { writableLength = 0, destroyed = true } = this.#socket ?? {};
    return !destroyed && !this.#isEnding && writableLength < MAX_UNSENT && elapsedMs(this.#grant.at) < PERMIT_MS;
  }

  takes(queueId: string): boolean {
    const refusedAt = this.#refused.get(queueId);
    if (refusedAt === undefined) return true;
    if (elapsedMs(refusedAt) < REFUSED_MS) return false;
    return this.#refused.delete(queueId);
  }

  /** @returns whether the worker has room for so much; then it is reserved until `end` */
  reserve(jobs: number, bytes: number): boolean {
    const { jobs: most, bytes: mostBytes } = this.#grant;
    if (!this.isOpen || this.#used.jobs + jobs > most || this.#used.bytes + bytes > mostBytes) return false;
    this.#used.jobs += jobs;
    this.#used.bytes += bytes;
    this.#reservations += 1;
    return true;
  }

  /**
   * Ends a reservation, and hands over what was claimed for it.
   * @param isUnsure whether more may have been claimed
   */
  end(reserved: { jobs: number; bytes: number }, permit: number, claim: NewClaim | null, isUnsure = false): void {
    const rows = claim?.rows ?? [];
    this.#used.jobs += rows.length - reserved.jobs;
    this.#used.bytes += rows.reduce((sum, { payload }) => sum + payload.length, 0) - reserved.bytes;
    this.#reservations -= 1;
    if (claim !== null && rows.length > 0 && this.#socket !== null) send(this.#socket, { permit, claim });
    if (isUnsure && this.#socket !== null) send(this.#socket, { unsure: true });
    this.#endWhenIdle();
  }

  /** No further reservations. The connection ends after those that there are. */
  close(): void {
    this.#isEnding = true;
    this.#endWhenIdle();
  }

  #endWhenIdle(): void {
    if (!this.#isEnding || this.#reservations > 0 || this.#socket === null) return;
    send(this.#socket, { bye: true });
    this.#socket.end();
    this.#socket = null;
  }

  #connect(n: number): void {
    const { hosts, port, key } = this.address;
    const host = hosts[n];
    if (host === undefined || this.#isEnding) {
      this.#onEnd();
      return;
    }
    const psk = Buffer.from(key, 'base64');
    const pskCallback = () => ({ identity: IDENTITY, psk });
    const socket = connect({ ...TLS, host, port, pskCallback, checkServerIdentity: () => undefined } as never);
    let isConnected = false;
    const timer = setTimeout(() => socket.destroy(), CONNECT_MS);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearTimeout(timer);
      this.#socket = null;
      if (isConnected) this.#onEnd();
      else this.#connect(n + 1);
    });
    socket.once('secureConnect', () => {
      clearTimeout(timer);
      isConnected = true;
      socket.setNoDelay(true);
      this.#socket = socket;
      onMessages(socket, (message) => this.#received(message));
      this.#endWhenIdle();
    });
  }

  #received(message: Grant | Refusal): void {
    if ('ends' in message) this.close();
    else if ('refuses' in message) {
      if (this.#refused.size >= MAX_REFUSED) this.#refused.clear();
      this.#refused.set(message.refuses, thisMoment());
    } else this.#grant = { ...message, at: thisMoment() };
  }
}
