import { graphql, type ResultOf } from '../../../query/schema/graphql.ts';

/** Alert rules, what fires now, and what has ended. */

export const Alerts = graphql(`
  query Alerts {
    alertRules {
      id kind threshold windowSeconds forSeconds silencedUntil createdAt evaluatedAt problem
      queue { id name }
      target {
        __typename
        ... on AlertWebhook { url format }
        ... on AlertEmail { to }
        ... on AlertPagerDuty { routingKey severity }
      }
      firing { id queueName cause firedAt firingNotificationId }
      lastNotification { sentAt failedAt attempts error }
    }
    ended: alerts(state: RESOLVED, first: 10) { nodes { id cause firedAt resolvedAt } }
  }
`);
export type AlertsData = ResultOf<typeof Alerts>;
export type AlertRuleRow = AlertsData['alertRules'][number];

export const NewAlertRule = graphql(`
  mutation NewAlertRule($input: CreateAlertRuleInput!) {
    createAlertRule(input: $input) {
      ... on CreateAlertRulePayload { signingSecret rule { id } }
      ... on Error { message }
      ... on ValidationError { formErrors fieldErrors { field messages } }
    }
  }
`);

export const ChangeAlertRule = graphql(`
  mutation ChangeAlertRule($id: ID!, $input: UpdateAlertRuleInput!) {
    updateAlertRule(id: $id, input: $input) {
      ... on AlertRulePayload { rule { id } }
      ... on Error { message }
      ... on ValidationError { formErrors fieldErrors { field messages } }
    }
  }
`);

export const RotateAlertSecret = graphql(`
  mutation RotateAlertSecret($id: ID!) {
    rotateAlertRuleSecret(id: $id) {
      ... on RotateAlertRuleSecretPayload { signingSecret }
      ... on Error { message }
    }
  }
`);

export const SilenceAlertRule = graphql(`
  mutation SilenceAlertRule($id: ID!, $until: DateTime) {
    silenceAlertRule(id: $id, until: $until) { ... on AlertRulePayload { rule { id } } ... on Error { message } }
  }
`);

export const TestAlertRule = graphql(`
  mutation TestAlertRule($id: ID!) {
    testAlertRule(id: $id) { ... on TestAlertRulePayload { notification { id } } ... on Error { message } }
  }
`);

export const DeleteAlertRule = graphql(`
  mutation DeleteAlertRule($id: ID!) {
    deleteAlertRule(id: $id) { ... on DeleteAlertRulePayload { id } ... on Error { message } }
  }
`);
