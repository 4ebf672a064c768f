import type {
  AppRoute,
  ClientInferRequest,
  ClientInferResponseBody,
  HTTPStatusCode,
  OptionalIfAllOptional,
  Prettify,
} from '@ts-rest/core';
import type { contract } from '../../../src/contract/index.ts';
import type { PayloadObject } from './payload.ts';

type AnyObjectAsPayload<Body> = Body extends { payload: unknown }
  ? Prettify<Omit<Body, 'payload'> & { payload: PayloadObject }>
  : Body;

type Inputs<Route extends AppRoute> = {
  [Key in keyof ClientInferRequest<Route> & ('params' | 'query' | 'body')]: AnyObjectAsPayload<
    ClientInferRequest<Route>[Key]
  >;
};

type Bodies<Route extends AppRoute> = {
  [Status in keyof Route['responses'] & HTTPStatusCode]: ClientInferResponseBody<Route, Status>;
};

/** The build of the package replaces this type by an interface with a description of every field. */
export type Routes = {
  [Group in keyof typeof contract]: {
    [Name in keyof (typeof contract)[Group]]: (typeof contract)[Group][Name] extends infer Route extends AppRoute
      ? OptionalIfAllOptional<Inputs<Route>> & { answers: Bodies<Route> }
      : never;
  };
};
