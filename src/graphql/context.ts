import type { PrismaClient, ReadingPrisma } from '../db/connection/prisma.ts';
import type { Plan, PlanTable } from '../domain/plan.ts';
import type { SignedIn } from '../domain/session.ts';
import type { Live } from '../live/live.ts';
import { planOf } from '../services/context.ts';
import type { StoredText } from '../services/jobs/stored-text.ts';
import type { Services, ServicesOfRequest } from '../services/services.ts';
import { AnswerTexts } from './answer-texts.ts';
import type { Connection, Streams } from './live/streams.ts';
import { createLoaders, type Loaders } from './loaders.ts';

/** The services that the GraphQL shell uses; the same for every request. */
export interface GraphQLServices {
  services: Services;
  live: Live;
  readingPrisma: ReadingPrisma;
  stored: StoredText;
  plans: PlanTable;
}

/** The context of resolvers: the services, and the client of the request. */
export interface GraphQLContext extends Omit<GraphQLServices, 'services'>, Answer, SignedIn {
  /** Reads on behalf of the account, which takes turns with other accounts. */
  prisma: PrismaClient;
  plan: Plan;
  streams: Streams;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
  connection: Connection;
  /** Trace context of the request; null without one. */
  trace: string | null;
  /** Starts the next event of a subscription: with new caches, because the old ones are out of date, and new limits. */
  renew(): void;
}

/** The objects that belong to one response, or to one event of a subscription. */
interface Answer {
  /** Searches of one response share a time budget, and end when the client disconnects. */
  services: ServicesOfRequest;
  loaders: Loaders;
  texts: AnswerTexts;
}

type Request = SignedIn & Pick<GraphQLContext, 'signal' | 'streams' | 'connection' | 'trace'>;

export function createContext(shared: GraphQLServices, request: Request): GraphQLContext {
  return {
    ...shared,
    ...request,
    ...createAnswer(shared, request),
    prisma: shared.readingPrisma.of(request.account.id),
    plan: planOf(shared, request.account),
    // `this` is not the object created here: Yoga copies its members to the context of the resolvers.
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
