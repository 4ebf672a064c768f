/** `@jobferry/client/testing`: for the tests of receivers and publishers. Needs no test framework. */
export {
  createFakeClient,
  type FakeAnswer,
  type FakeClient,
  type FakeOptions,
  type FakePublish,
  type FakeQueue,
} from './fake-client.ts';
export type { SeenAttempt } from './seen-attempts.ts';
export { type DeliveryOptions, type SignedDelivery, signedDelivery } from './signed-delivery.ts';
export { type ExpectedDelivery, type StartOptions, startJobferry, type TestJobferry } from './start-jobferry.ts';
export type { TestTime, TimeEvent } from './test-time.ts';
