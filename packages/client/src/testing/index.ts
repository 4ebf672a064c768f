/** `@jobferry/client/testing`: for the tests of receivers and publishers. Needs no test framework. */
export { createFakeClient, type FakeClient } from './fake-client.ts';
export type { FakeAnswer, FakeOptions, FakePublish, FakeQueue } from './fake-service.ts';
export type { SeenAttempt } from './seen-attempts.ts';
export { type DeliveryOptions, type SignedDelivery, signedDelivery } from './signed-delivery.ts';
export { type ExpectedDelivery, type StartOptions, startJobferry, type TestJobferry } from './start-jobferry.ts';
export type { TestTime, TimeEvent } from './test-time.ts';
