import { graphql } from '../../../query/schema/graphql.ts';

export const AddressWarning = graphql(`
  query AddressWarning($webhookUrl: String!) { addressWarning(webhookUrl: $webhookUrl) }
`);
