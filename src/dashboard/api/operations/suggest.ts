import { graphql } from '../../schema/graphql.ts';

export const SuggestPaths = graphql(`
  query SuggestPaths($prefix: String!, $first: Int! = 8) { payloadPaths(prefix: $prefix, first: $first) { value count isNumber } }
`);

export const SuggestValues = graphql(`
  query SuggestValues($path: String!, $prefix: String!) {
    payloadValues(path: $path, prefix: $prefix, first: 8) { value count }
  }
`);

/** In how many jobs a value is at each of five paths at most. */
export const SuggestCounts = graphql(`
  query SuggestCounts(
    $a: JobFilter, $b: JobFilter, $c: JobFilter, $d: JobFilter, $e: JobFilter,
    $hasB: Boolean!, $hasC: Boolean!, $hasD: Boolean!, $hasE: Boolean!
  ) {
    a: count(filter: $a, max: 1000) { count exact }
    b: count(filter: $b, max: 1000) @include(if: $hasB) { count exact }
    c: count(filter: $c, max: 1000) @include(if: $hasC) { count exact }
    d: count(filter: $d, max: 1000) @include(if: $hasD) { count exact }
    e: count(filter: $e, max: 1000) @include(if: $hasE) { count exact }
  }
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
