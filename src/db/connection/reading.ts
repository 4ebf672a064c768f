import type pg from 'pg';
import { unavailable } from '../../domain/errors.ts';
import type { SearchBudget } from '../search/budget.ts';
import type { Connections } from './connections.ts';
import { FairTurns } from './fair-turns.ts';

/** Connections per process and server for dashboards, lists and searches. */
export const MAX_READING_CONNECTIONS = 4;

/** Time limit of a statement of a GraphQL field. */
export const GRAPHQL_MS = 2000;

/**
 * Limits of dashboards, lists and searches. An account's statements wait for each other, and not for those of other
 * accounts. One page of a dashboard sends a few dozen statements at once.
 */
const READING = {
  atOnce: MAX_READING_CONNECTIONS,
  atOnceOfOne: 2,
  waiting: 4000,
  waitingOfOne: 1000,
  maxWaitMs: 4000,
  slowMs: 300,
};

export function readingTurns(): FairTurns {
  return new FairTurns(READING);
}

export interface ReadingOptions {
  /** Budget of the request. It is charged for the time of its statements, not for the wait for the account's turn. */
  budget?: SearchBudget | undefined;
  /** Time limit of a statement; 2 s if undefined. REST lists have a longer one, because they work at any size. */
  maxMs?: number | undefined;
  /** Whether the client has gone. A statement whose turn comes after that is refused. */
  isGone?: (() => boolean) | undefined;
}

interface Source {
  turns: FairTurns;
  connections: Pick<Connections, 'run'>;
}

type Run = <Row extends pg.QueryResultRow>(statement: pg.QueryConfig) => Promise<Row[]>;

/** Runs statements of an account in its turn. They fail as `unavailable` when that takes too long. */
export function runInTurn(
  { turns, connections }: Source,
  accountId: string,
  { budget, maxMs, isGone = () => false }: ReadingOptions,
): Run {
  const inTurn = <T>(work: () => Promise<T>) => turns.run(accountId, work);
  return <Row extends pg.QueryResultRow>(statement: pg.QueryConfig): Promise<Row[]> => {
    const read = async () => {
      if (isGone()) throw unavailable('the client does not wait for this response any more', 'nothing');
      return connections.run<Row>(statement, { maxMs: budget?.left ?? maxMs });
    };
    return budget === undefined ? inTurn(read) : budget.spend(read, inTurn);
  };
}
