import { beforeAll } from 'vitest';
import { openAlerts, type ReceivedAlerts } from './alerts.ts';
import { insertDeadLetters } from './bulk.ts';
import { createTestDatabase } from './database.ts';
import type { GraphQL } from './graphql.ts';
import { openGraphQL } from './graphql-server.ts';
import type { Receiver } from './receiver.ts';
import { openReceiver } from './service.ts';

/** An account with a queue, and a receiver for its alerts. */
export interface AlertAccount {
  graphql: GraphQL;
  accountId: string;
  queueId: string;
  receiver: Receiver;
}

type Server = Awaited<ReturnType<typeof openGraphQL>>;

/** Accounts in a service that evaluates and sends when a test says so. Opened before the first test of a file. */
export function openAlertAccounts(options: Parameters<typeof openGraphQL>[1] = {}) {
  let opened: { server: Server; alerts: ReturnType<typeof openAlerts> };
  beforeAll(async () => {
    const server = await openGraphQL((await createTestDatabase()).url, options);
    opened = { server, alerts: openAlerts(server.op.db) };
  });
  const server = () => opened.server;
  const evaluate = (accountId: string) => opened.alerts.evaluate(accountId);
  const send = () => opened.alerts.send();
  const age = (accountId: string, seconds: number) => opened.alerts.age(accountId, seconds);
  const sql = (text: string, values: unknown[] = []) => server().op.db.query<Record<string, unknown>>(text, values);

  /** Evaluates until what holds now has fired: an alert begins in one round and fires in another. */
  const fire = async ({ accountId }: AlertAccount): Promise<void> => {
    await evaluate(accountId);
    await age(accountId, 3600);
    await evaluate(accountId);
    await send();
  };
  return {
    server,
    evaluate,
    send,
    age,
    sql,
    fire,
    /** Evaluates until what no longer holds has resolved. */
    resolve: fire,
    async newAccount(): Promise<AlertAccount> {
      const { graphql, id: accountId } = await server().newAccount();
      return { graphql, accountId, queueId: await createQueue(graphql, 'orders'), receiver: await openReceiver() };
    },
    die: (queueId: string, count = 1) => insertDeadLetters(server().op.db, queueId, count),
    forget: (queueId: string) => sql('delete from dead_letter where queue_id = $1', [queueId]),
    /** Makes the notifications of an account that wait due. */
    due: (accountId: string) =>
      sql('update alert_notification set next_at = jobferry_now() where account_id = $1 and next_at is not null', [
        accountId,
      ]),
  };
}

export async function createQueue(graphql: GraphQL, name: string): Promise<string> {
  const { createQueue: created } = await graphql.query(
    `mutation Q($input: CreateQueueInput!) { createQueue(input: $input) { ... on CreateQueuePayload { queue { id } } } }`,
    { input: { name, webhookUrl: 'http://127.0.0.1:9/' } },
  );
  return created.queue.id;
}

export const silence = (graphql: GraphQL, id: string, until: Date | null) =>
  graphql.query(`mutation S($id: ID!, $until: DateTime) { silenceAlertRule(id: $id, until: $until) { __typename } }`, {
    id,
    until: until?.toISOString() ?? null,
  });

export const received = (receiver: Receiver) =>
  receiver.requests.map((request) => request.json() as unknown as ReceivedAlerts);
export const states = (receiver: Receiver) => received(receiver).map((body) => body.alerts.map(({ state }) => state));
