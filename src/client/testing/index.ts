/** `@jobferry/client/testing`: for the tests of receivers and publishers. Needs no service and no test framework. */
export {
  createFakeClient,
  type FakeAnswer,
  type FakeClient,
  type FakeOptions,
  type FakePublish,
} from './fake-client.ts';
export { type DeliveryOptions, type SignedDelivery, signedDelivery } from './signed-delivery.ts';
