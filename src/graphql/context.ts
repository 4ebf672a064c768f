import type { PrismaClient, ReadingPrisma } from '../db/connection/prisma.ts';
import type { Account } from '../domain/account.ts';
import type { Plan, PlanTable } from '../domain/plan.ts';
import type { Live } from '../live/live.ts';
import { planOf } from '../services/context.ts';
import type { StoredText } from '../services/jobs/stored-text.ts';
import type { Services, ServicesOfRequest } from '../services/services.ts';
import { AnswerTexts } from './answer-texts.ts';
import type { Streams } from './live/streams.ts';
import { createLoaders, type Loaders } from './loaders.ts';

/** What the GraphQL shell is given; the same for every request. */
export interface GraphQLServices {
  services: Services;
  live: Live;
  readingPrisma: ReadingPrisma;
  stored: StoredText;
  plans: PlanTable;
}

/** What resolvers get: the services, and whose request it is. */
export interface GraphQLContext extends Omit<GraphQLServices, 'services'>, Answer {
  account: Account;
  /** For reading what is the account's, in its turn. */
  prisma: PrismaClient;
  plan: Plan;
  streams: Streams;
  /** Aborted when the client has gone. */
  signal: AbortSignal;
  connection: Connection;
  /** What was read for one event of a subscription is out of date at the next, which has bounds of its own. */
  renew(): void;
}

/** The way to the client. */
export interface Connection {
  /** Whether something that was sent still waits here to be read. */
  hasUnread(): boolean;
  /** Closes it at once; what waits is lost. */
  cut(): void;
}

/** What belongs to one answer, or to one event of a subscription. */
interface Answer {
  /** Its searches have one budget, and end when the client has gone. */
  services: ServicesOfRequest;
  loaders: Loaders;
  texts: AnswerTexts;
}

type Request = Pick<GraphQLContext, 'account' | 'signal' | 'streams' | 'connection'>;

export function createContext(shared: GraphQLServices, request: Request): GraphQLContext {
  return {
    ...shared,
    ...request,
    ...createAnswer(shared, request),
    prisma: shared.readingPrisma.of(request.account.id),
    plan: planOf(shared, request.account),
    // Not this object: resolvers get one that Yoga has copied it to.
    renew() {
      Object.assign(this, createAnswer(shared, request));
    },
  };
}

function createAnswer(shared: GraphQLServices, { account, signal }: Request): Answer {
  const services = shared.services.ofRequest(signal);
  const texts = new AnswerTexts();
  const prisma = shared.readingPrisma.of(account.id);
  return { services, texts, loaders: createLoaders({ ...shared, prisma, services, texts }, account) };
}
