import { QueueNow } from '../../../query/schema/fragments.ts';
import { graphql } from '../../../query/schema/graphql.ts';

export const Pause = graphql(
  `mutation Pause($id: ID!) { pauseQueue(id: $id) { ... on QueuePayload { queue { ...QueueNow } } ... on Error { message } } }`,
  [QueueNow],
);

export const Resume = graphql(
  `mutation Resume($id: ID!) { resumeQueue(id: $id) { ... on QueuePayload { queue { ...QueueNow } } ... on Error { message } } }`,
  [QueueNow],
);
