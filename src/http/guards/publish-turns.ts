import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { contract } from '../../contract/index.ts';
import type { Account } from '../../domain/account.ts';
import { counts } from '../../telemetry/counts/counts.ts';
import { type Answer, addWait, type Locals, localsOf } from '../locals.ts';
import type { RestServices } from '../routes/rest-services.ts';
import { noteAccount } from '../server/open-connections.ts';
import type { Admission, Refusal } from './admission.ts';
import { accountOf, keyIn } from './authentication.ts';

const REFUSAL = JSON.stringify({
  error: 'too many jobs are being published at the moment; nothing was stored, try again',
});
const REFUSAL_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'retry-after': '1',
  'content-type': 'application/json; charset=utf-8',
  'content-length': REFUSAL.length,
};
/** A publish that has waited for this long does not wait for its turn once more. */
const LONG_MS = 3000;
const PUBLISH = /^\/v1\/queues\/[^/?]+\/jobs(?:\?|$)/;

/** The three places at which a publish may have to wait: before any work, before its body is read, and after it. */
export interface PublishTurns {
  /** Wraps `answer`. It delays only requests whose account is known without a query; all others proceed. */
  before(answer: RequestListener): RequestListener;
  /** To be called after the key is checked and before the body is read. Returns false if the request was refused. */
  receive(req: IncomingMessage, res: Answer): boolean;
  /** Calls `receive` for publishes. */
  admission: RequestHandler;
  /** To be called after the body is read and before it is parsed. Resolves with false if the request was refused. */
  bodyRead(res: Answer, length: number): true | Promise<boolean>;
  /**
   * To be called when an answer was written. It may still wait behind others of its connection,
   * for as long as the client likes.
   */
  answered(res: ServerResponse): void;
}

export function createPublishTurns(
  services: Pick<RestServices, 'accounts'>,
  admission: Admission,
  maxBodyBytes: number,
): PublishTurns {
  const receive: PublishTurns['receive'] = (req, res) => {
    const account = accountOf(res);
    const publish = admission.receive(account.id, Number(req.headers['content-length'] ?? maxBodyBytes));
    if (publish === null) {
      refuse(res, account, admission.whyRefused(account.id));
      return false;
    }
    res.locals.publish = publish;
    res.on('close', () => admission.end(publish));
    return true;
  };
  return {
    before: (answer) => (req, res) => {
      const account = admission.isBusy && isPublishPath(req) ? services.accounts.knownAccount(keyIn(req) ?? '') : null;
      if (account === null) {
        answer(req, res);
        return;
      }
      noteAccount(req.socket, account.id);
      const since = performance.now();
      const proceed = () => {
        if (res.destroyed) return;
        (res as ServerResponse & { locals?: Locals }).locals = { turn: admission.turn };
        addWait(res, since);
        answer(req, res);
      };
      admission.wait(account.id, 0, proceed, (why) => refuse(res, account, why));
    },

    receive,

    admission: (req, res, next) => {
      const isPublish = (req as { tsRestRoute?: unknown }).tsRestRoute === contract.jobs.publish;
      if (!isPublish || receive(req, res)) next();
    },

    answered: (res) => {
      const { publish } = localsOf(res);
      if (publish !== undefined) admission.end(publish);
    },

    bodyRead: (res, length) => {
      const { publish, turn, waitedMs } = res.locals;
      if (publish === undefined || publish.stage === 'over') return true;
      // Its client would wait for longer than 5 s in all (I-37).
      if ((waitedMs ?? 0) > LONG_MS && admission.isBusy) {
        refuse(res, accountOf(res), admission.whyRefused(publish.account));
        admission.end(publish);
        return Promise.resolve(false);
      }
      const goesOn = admission.received(publish, length, turn);
      if (goesOn === true) return true;
      const since = performance.now();
      return goesOn.then((admitted) => {
        addWait(res, since);
        if (admitted !== true) refuse(res, accountOf(res), admitted);
        return admitted === true;
      });
    },
  };
}

function isPublishPath({ method, url }: IncomingMessage): boolean {
  return method === 'POST' && PUBLISH.test(url ?? '');
}

/** As cheap as possible: an overloaded process refuses most of the time. */
function refuse(res: ServerResponse & { locals?: Locals }, account: Account, why: Refusal): void {
  if (res.destroyed) return;
  counts.refusedPublishes.add(why);
  res.locals = { account, route: contract.jobs.publish.path };
  res.writeHead(503, REFUSAL_HEADERS);
  res.end(REFUSAL);
}
