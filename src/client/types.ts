import type {
  AppRoute,
  AreAllPropertiesOptional,
  ClientInferRequest,
  ClientInferResponses,
  HTTPStatusCode,
  OptionalIfAllOptional,
  Prettify,
} from '@ts-rest/core';
import type { contract, JsonObject } from '../contract/index.ts';

/**
 * What a call resolves to: one member for each status of the contract, told apart by `status`. The
 * last member stands for every other status, which a proxy on the way may answer with.
 */
export type Answer<Route extends AppRoute> = ClientInferResponses<Route, HTTPStatusCode, 'ignore'>;

export interface CallOptions {
  /** Ends the call, its retries too; it then rejects with the signal's reason. */
  signal?: AbortSignal;
}

/**
 * Any object but an array, or another collection that would not be the object that it looks like. An interface
 * has no index signature, so the contract's `Record` would refuse most people's payload types.
 */
export type PayloadObject = JsonObject | (object & { readonly [Symbol.iterator]?: never });

type AnyObjectAsPayload<Body> = Body extends { payload: unknown }
  ? Prettify<Omit<Body, 'payload'> & { payload: PayloadObject }>
  : Body;

type Inputs<Route extends AppRoute> = {
  [Key in keyof ClientInferRequest<Route> & ('params' | 'query' | 'body')]: AnyObjectAsPayload<
    ClientInferRequest<Route>[Key]
  >;
};

type Call<Route extends AppRoute, Given = OptionalIfAllOptional<Inputs<Route>>> =
  AreAllPropertiesOptional<Given> extends true
    ? (input?: Prettify<Given & CallOptions>) => Promise<Answer<Route>>
    : (input: Prettify<Given & CallOptions>) => Promise<Answer<Route>>;

/** Every route of the contract. Timestamps are ISO 8601 strings, as on the wire. */
export type JobferryClient = {
  [Group in keyof typeof contract]: {
    [Name in keyof (typeof contract)[Group]]: (typeof contract)[Group][Name] extends AppRoute
      ? Call<(typeof contract)[Group][Name]>
      : never;
  };
};

type BodyOf<Route extends AppRoute, Status> = Extract<Answer<Route>, { status: Status }>['body'];
type Routes = typeof contract;

export type Queue = BodyOf<Routes['queues']['get'], 200>;
export type CreatedQueue = BodyOf<Routes['queues']['create'], 201>;
export type Job = BodyOf<Routes['jobs']['get'], 200>;
export type PublishedJob = BodyOf<Routes['jobs']['publish'], 201>;
export type DeadLetter = BodyOf<Routes['deadLetters']['list'], 200>['jobs'][number];
export type AckInput = NonNullable<Inputs<Routes['jobs']['ack']>['body']>;
export type NackInput = NonNullable<Inputs<Routes['jobs']['nack']>['body']>;
export type DeferInput = Inputs<Routes['jobs']['defer']>['body'];
