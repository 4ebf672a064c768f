import { getNamedType, isInputObjectType, isObjectType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { FIELD_ROLES, MUTATIONS, rightsFor } from '../../src/domain/operation-rights.ts';
import { mayBeSent, ruleOf } from '../../src/graphql/access/enforce.ts';
import {
  ERROR_FIELDS,
  FILTER_FIELDS,
  PAYLOAD_FIELDS,
  PLAIN_FIELDS,
  PLAIN_INPUTS,
} from '../../src/graphql/access/payload-texts.ts';
import { schema } from '../../src/graphql/schema.ts';

/** The tables of access name the whole schema: what is new is refused or hidden until it was decided on. */

const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));
const objects = types.filter((type) => isObjectType(type));
const inputs = types.filter((type) => isInputObjectType(type));
const fields = objects.flatMap((type) => Object.values(type.getFields()).map((field) => ({ type: type.name, field })));
const members = [
  ...inputs.flatMap((type) => Object.values(type.getFields()).map((member) => ({ owner: type.name, member }))),
  ...fields.flatMap(({ type, field }) => field.args.map((member) => ({ owner: `${type}.${field.name}`, member }))),
];

const named = (table: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(table).flatMap(([owner, names]) => names.map((name) => `${owner}.${name}`));

it('every mutation has a role, and a scope for API keys with limits', () => {
  expect(Object.keys(MUTATIONS).sort()).toEqual(Object.keys(schema.getMutationType()?.getFields() ?? {}).sort());
  expect(rightsFor('aMutationWithoutAnEntry')).toEqual({ role: 'admin', scope: 'admin' });
});

it('every text is plain, or hidden on purpose', () => {
  const hidden = fields.filter(({ type, field }) => ruleOf(type, field) === 'hidden');
  expect(hidden.map(({ type, field }) => `${type}.${field.name}`).sort()).toEqual([
    'AckProgress.text',
    'Attempt.responseBody',
    'Count.hint',
    'DeadLetterConnection.hint',
    'ErrorGroup.answer',
    'IgnoredNames.names',
    'Job.payload',
    'Job.payloadPreview',
    'Job.payloadText',
    'JobConnection.hint',
    'JobGroup.value',
    'JobGroups.hint',
    'PayloadSuggestion.value',
    'QueueHold.reason',
    'Receipt.responseBody',
    'ReceiverCheck.responseBody',
    'TunnelDelivery.body',
    'TunnelDelivery.headers',
  ]);
});

it('every text of an input is plain, or refused on purpose', () => {
  const refused = members.filter(({ owner, member }) => !mayBeSent(owner, member));
  expect(refused.map(({ owner, member }) => `${owner}.${member.name}`).sort()).toEqual([
    'AttemptFilter.errorContains',
    'AttemptFilter.responseContains',
    'DeadLetterFilter.answers',
    'DeadLetterFilter.errorContains',
    'JobFilter.errorContains',
    'PayloadConditionInput.anywhere',
    'PayloadConditionInput.path',
    'PayloadConditionInput.value',
    'Query.jobGroups.path',
    'Query.payloadPaths.prefix',
    'Query.payloadValues.path',
    'Query.payloadValues.prefix',
    // A client that may not see payloads opens no tunnel.
    'TunnelAnswerInput.body',
    'TunnelAnswerInput.error',
    'TunnelAnswerInput.outcome',
    'TunnelAnswerInput.retryAfter',
  ]);
});

describe('the tables', () => {
  const TEXTS = ['String', 'JSON', 'JSONObject'];
  const texts = fields.filter(({ field }) => TEXTS.includes(getNamedType(field.type).name));

  it.each([
    ['PLAIN_FIELDS', named(PLAIN_FIELDS), texts],
    ['ERROR_FIELDS', [...ERROR_FIELDS], texts],
    ['FILTER_FIELDS', [...FILTER_FIELDS], texts],
    ['PAYLOAD_FIELDS', [...PAYLOAD_FIELDS], fields],
    ['FIELD_ROLES', Object.keys(FIELD_ROLES), fields],
  ])('%s names only what is there', (_table, paths, present) => {
    const there = new Set(present.map(({ type, field }) => `${type}.${field.name}`));
    expect(paths.filter((path) => !there.has(path))).toEqual([]);
  });

  it('PLAIN_INPUTS names only what is there', () => {
    const there = new Set(members.map(({ owner, member }) => `${owner}.${member.name}`));
    expect(named(PLAIN_INPUTS).filter((path) => !there.has(path))).toEqual([]);
  });
});
