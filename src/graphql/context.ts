import { initContextCache } from '@pothos/core';
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
export interface GraphQLServices extends Sources {
  live: Live;
  plans: PlanTable;
}

/** The objects that read the database. */
export interface Sources {
  services: Services;
  readingPrisma: ReadingPrisma;
  stored: StoredText;
}

/** The context of resolvers: the services, and the client of the request. */
export interface GraphQLContext extends Omit<GraphQLServices, 'services'>, Answer, SignedIn {
  plan: Plan;
  streams: Streams;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
  connection: Connection;
  /** Trace context of the request; null without one. */
  trace: string | null;
  /** Starts the next event of a subscription: with new caches, because the old ones are out of date, and new limits. */
  renew(): void;
  /** Reads from now on from another server. To be called before anything is read. */
  readFrom(sources: Sources): void;
}

/** The objects that belong to one response, or to one event of a subscription. */
interface Answer extends ReturnType<typeof initContextCache> {
  /** Reads on behalf of the account, which takes turns with other accounts. */
  prisma: PrismaClient;
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
    plan: planOf(shared, request.account),
    // `this` is not the object created here: Yoga copies its members to the context of the resolvers.
    renew() {
      Object.assign(this, createAnswer(shared, request));
    },
    readFrom(sources) {
      const { readingPrisma, stored } = sources;
      Object.assign(this, { readingPrisma, stored }, createAnswer(sources, request));
    },
  };
}

function createAnswer(sources: Sources, { account, signal }: Request): Answer {
  const { stored } = sources;
  const services = sources.services.ofRequest(signal);
  const texts = new AnswerTexts();
  const prisma = sources.readingPrisma.of(account.id);
  const loaders = createLoaders({ prisma, stored, services, texts }, account);
  // Pothos keeps every object whose owner it has checked, for as long as this key is in use.
  return { prisma, services, texts, loaders, ...initContextCache() };
}
