import type { ServerResponse } from 'node:http';
import { type DocumentNode, type ExecutionResult, getOperationAST } from 'graphql';
import { isAsyncIterable, type Plugin, type YogaInitialContext } from 'graphql-yoga';
import type { Admission } from '../domain/replication.ts';
import type { RecentChanges } from '../services/server/recent-changes.ts';
import type { GraphQLContext, Sources } from './context.ts';

/** The reads that queries use if there is a replica. */
export interface ReplicaReads {
  /** `admit` decides where a request reads; the replica must have all that was committed before `since`. */
  replica: { admit(since: number): Promise<Admission> };
  /** Read from the replica, or from the primary if it fails. */
  sources: Sources;
  changes: RecentChanges;
  /** How long a client's change is remembered, in seconds: a replica that lacks older ones is not used anyway. */
  rememberSeconds: number;
}

/** Set in the browser of a person who has changed something: the next query may go to another process. */
const COOKIE = 'jobferry-changed';
/** A client with an API key can ask for the primary. */
const HEADER = 'jobferry-read-from';

type Context = GraphQLContext & YogaInitialContext & { res: ServerResponse };

/**
 * Lets queries read from the replica, and says so in the answer. Mutations, and what they return, and subscriptions use
 * the primary. After a mutation, or an event of a subscription, the queries of that client need a replica that has the
 * change.
 */
export function readingFrom({ replica, sources, changes, rememberSeconds }: ReplicaReads): Plugin<Context> {
  async function admit(context: Context): Promise<Admission> {
    const { headers } = context.request;
    if (headers.get(HEADER) === 'primary') return { problem: 'the request asked for the primary' };
    const hasChanged = context.session !== null && headers.get('cookie')?.includes(`${COOKIE}=1`) === true;
    return replica.admit(hasChanged ? performance.now() : changes.lastOf(context.account));
  }

  function noteChange({ account, session, res }: Context): void {
    changes.note(account);
    if (session === null || res.headersSent) return;
    res.appendHeader('set-cookie', `${COOKIE}=1; Max-Age=${rememberSeconds}; HttpOnly; SameSite=Strict`);
  }

  return {
    async onExecute({ args: { document, operationName, contextValue } }) {
      const type = typeOf(document, operationName);
      if (type === 'mutation') return { onExecuteDone: () => noteChange(contextValue) };
      if (type !== 'query') return {};
      const admission = await admit(contextValue);
      if ('lagMs' in admission) contextValue.readFrom(sources);
      return {
        onExecuteDone({ result, setResult }) {
          if (!isAsyncIterable(result)) setResult(withSource(result, admission));
        },
      };
    },
    onSubscribe: ({ args: { contextValue } }) => ({
      onSubscribeResult: () => ({ onNext: () => changes.note(contextValue.account) }),
    }),
  };
}

function typeOf(document: DocumentNode, name: string | null | undefined): string | undefined {
  return getOperationAST(document, name)?.operation;
}

function withSource(result: ExecutionResult, admission: Admission): ExecutionResult {
  const readFrom =
    'lagMs' in admission
      ? { server: 'replica', lagSeconds: Math.ceil(admission.lagMs) / 1000 }
      : { server: 'primary', reason: `the replica is not used: ${admission.problem}` };
  return { ...result, extensions: { ...result.extensions, readFrom } };
}
