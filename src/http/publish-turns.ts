import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import { contract } from '../contract/index.ts';
import { Admission, type Publish } from './admission.ts';
import { accountOf, keyIn } from './authentication.ts';
import { belongsTo } from './open-connections.ts';
import type { RestServices } from './rest-services.ts';

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
const PUBLISH = /^\/v1\/queues\/[^/?]+\/jobs(?:\?|$)/;

interface Locals {
  /** Of the turns that are taken, the one in which the request went on. */
  turn?: number;
  publish?: Publish;
}

/** The three places at which a publish can be made to wait: before all else, before its body, and after it. */
export interface PublishTurns {
  /** Instead of `answer`. Whose request it is must be known without asking anybody; who is not known goes on. */
  before(answer: RequestListener): RequestListener;
  /** After the key and before the body. */
  admission: RequestHandler;
  /** After the body and before it is understood. Resolves with false when the request was refused. */
  bodyRead(req: Request, res: Response, length: number): true | Promise<boolean>;
}

export function createPublishTurns(services: Pick<RestServices, 'accounts'>, maxBodyBytes: number): PublishTurns {
  const admission = new Admission();
  return {
    before: (answer) => (req, res) => {
      const account = admission.isBusy && isPublishPath(req) ? services.accounts.knownAccount(keyIn(req) ?? '') : null;
      if (account === null) {
        answer(req, res);
        return;
      }
      belongsTo(req.socket, account.id);
      const proceed = () => {
        if (res.destroyed) return;
        (res as ServerResponse & { locals?: Locals }).locals = { turn: admission.turn };
        answer(req, res);
      };
      admission.wait(account.id, 0, proceed, () => refuse(res));
    },

    admission: (req, res, next) => {
      if ((req as { tsRestRoute?: unknown }).tsRestRoute !== contract.jobs.publish) {
        next();
        return;
      }
      const publish = admission.receive(accountOf(res).id, Number(req.headers['content-length'] ?? maxBodyBytes));
      if (publish === null) {
        refuse(res);
        return;
      }
      (res.locals as Locals).publish = publish;
      res.once('close', () => admission.end(publish));
      next();
    },

    bodyRead: (_req, res, length) => {
      const { publish, turn } = res.locals as Locals;
      if (publish === undefined || publish.stage === 'over') return true;
      const goesOn = admission.received(publish, length, turn);
      if (goesOn === true) return true;
      return goesOn.then((isAdmitted) => {
        if (!isAdmitted) refuse(res);
        return isAdmitted;
      });
    },
  };
}

function isPublishPath({ method, url }: IncomingMessage): boolean {
  return method === 'POST' && PUBLISH.test(url ?? '');
}

/** As cheap as can be: an overloaded process does it most of the time. */
function refuse(res: ServerResponse): void {
  if (res.destroyed) return;
  res.writeHead(503, REFUSAL_HEADERS);
  res.end(REFUSAL);
}
