import { graphql } from './graphql.ts';

export const SuggestPaths = graphql(`
  query SuggestPaths($prefix: String!, $first: Int! = 8) { payloadPaths(prefix: $prefix, first: $first) { value count isNumber } }
`);

export const SuggestValues = graphql(`
  query SuggestValues($path: String!, $prefix: String!) {
    payloadValues(path: $path, prefix: $prefix, first: 8) { value count }
  }
`);

export const JobsCount = graphql(`
  query JobsCount($filter: JobFilter, $max: Int!) { count(filter: $filter, max: $max) { count exact } }
`);

export const SuggestTags = graphql(`query SuggestTags($search: String!) { queueTags(search: $search) }`);

export const SearchQueues = graphql(`
  query SearchQueues($search: String, $tags: [String!], $receivers: [String!], $first: Int = 8) {
    queues(first: $first, search: $search, tags: $tags, receivers: $receivers) { nodes { id name paused webhookUrl tags } }
  }
`);

export const SearchReceivers = graphql(`
  query SearchReceivers($search: String!) { receivers(first: 8, search: $search) { host queueCount } }
`);
