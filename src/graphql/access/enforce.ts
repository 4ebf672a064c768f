import {
  defaultFieldResolver,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { hasRole, type MemberRole } from '../../domain/access.ts';
import { JobferryError } from '../../domain/errors.ts';
import { assertScope, type KeyScope } from '../../domain/key-rights.ts';
import { FIELD_ROLES, rightsFor } from '../../domain/operation-rights.ts';
import { isOwnError } from '../../domain/outcome.ts';
import type { GraphQLContext } from '../context.ts';
import { ERROR_FIELDS, FILTER_FIELDS, PAYLOAD_FIELDS, PLAIN_FIELDS, PLAIN_INPUTS } from './payload-texts.ts';

type Field = GraphQLField<unknown, GraphQLContext>;
type Resolver = GraphQLFieldResolver<unknown, GraphQLContext>;

const ROLES_TO_READ: Readonly<Record<string, MemberRole>> = FIELD_ROLES;
const TEXTS: ReadonlySet<string> = new Set(['String', 'JSON', 'JSONObject']);
const CURSORS: ReadonlySet<string> = new Set(['cursor']);
/** Arguments of every list. */
const PAGE_ARGS: ReadonlySet<string> = new Set(['after', 'before']);

/**
 * Makes every field check the client's role and its right to see payloads, before its resolver runs. It works on the
 * finished schema, so a field cannot be forgotten: what the tables do not name needs the most.
 */
export function enforceAccess(schema: GraphQLSchema): void {
  const mutations = schema.getMutationType();
  const conditions = refusedConditions(schema);
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      const rights = type === mutations ? rightsFor(field.name) : null;
      const role = rights?.role ?? ROLES_TO_READ[`${type.name}.${field.name}`];
      // The last check that is added runs first.
      refuseInputs(type.name, field);
      hideTexts(type.name, field, conditions);
      if (rights !== null) requireScope(field, rights.scope);
      if (role !== undefined) requireRole(field, role, { ofPeople: rights !== null });
    }
  }
  describeInputs(schema);
}

/** How a client without the right to see payloads reads a field. */
type TextRule = 'plain' | 'error' | 'filter' | 'refused' | 'hidden';

export function ruleOf(typeName: string, field: Pick<Field, 'name' | 'type'>): TextRule {
  const path = `${typeName}.${field.name}`;
  if (PAYLOAD_FIELDS.has(path)) return 'refused';
  if (!TEXTS.has(getNamedType(field.type).name)) return 'plain';
  if (ERROR_FIELDS.has(path)) return 'error';
  if (FILTER_FIELDS.has(path)) return 'filter';
  return CURSORS.has(field.name) || PLAIN_FIELDS[typeName]?.includes(field.name) === true ? 'plain' : 'hidden';
}

/** Whether a client without the right to see payloads may send the argument or input field. */
export function mayBeSent(owner: string, { name, type }: { name: string; type: GraphQLInputType }): boolean {
  if (!TEXTS.has(getNamedType(type).name)) return true;
  return PLAIN_INPUTS[owner]?.includes(name) === true || (!isInputName(owner) && PAGE_ARGS.has(name));
}

/** Arguments have the owner `Type.field`, input fields the name of their type. */
function isInputName(owner: string): boolean {
  return !owner.includes('.');
}

/** @param ofPeople whether keys with limits need no role, because they need a scope */
function requireRole(field: Field, role: MemberRole, { ofPeople }: { ofPeople: boolean }): void {
  before(field, ({ access, account: { rights } }) => {
    if (hasRole(access, role) || (ofPeople && rights != null)) return;
    throw forbidden(`this needs the role ${role.toUpperCase()}, and yours is ${access.role.toUpperCase()}`);
  });
  if (role !== 'viewer') describe(field, `Needs the role \`${role.toUpperCase()}\`.`);
}

/** Sets the scope that an API key with limits needs in place of a role. */
function requireScope(field: Field, scope: KeyScope): void {
  before(field, ({ account }) => assertScope(account.rights, scope));
  describe(field, `Needs the scope \`${scope.toUpperCase()}\` if the API key has limits.`);
}

function hideTexts(typeName: string, field: Field, conditions: ReadonlySet<string>): void {
  const rule = ruleOf(typeName, field);
  if (rule === 'plain') return;
  if (rule === 'refused' || (rule === 'hidden' && isNonNullType(field.type))) {
    before(field, requirePayloads);
    describe(field, 'Refused if the client may not see payloads.');
    return;
  }
  if (rule === 'hidden') {
    nullForOthers(field);
    describe(field, 'Null if the client may not see payloads.');
  } else if (rule === 'error') {
    forOthers(field, (text) => (typeof text === 'string' && isOwnError(text) ? text : null));
    describe(field, 'A text of the receiver is null if the client may not see payloads.');
  } else {
    forOthers(field, (value) => without(conditions, value));
    describe(field, 'Conditions on payloads and errors are left out if the client may not see payloads.');
  }
}

function refuseInputs(typeName: string, field: Field): void {
  const owner = `${typeName}.${field.name}`;
  if (!field.args.some((arg) => !mayBeSent(owner, arg) || holdsRefused(arg.type, new Set()))) return;
  before(field, (context, args) => {
    if (context.access.mayViewPayloads) return;
    for (const arg of field.args) {
      const refused = refusedIn(owner, arg, args[arg.name]);
      if (refused !== null) throw forbidden(`${refused} needs the right to see payloads`);
    }
  });
}

/** @returns the path of a member that the client may not send; null if there is none */
function refusedIn(owner: string, input: { name: string; type: GraphQLInputType }, value: unknown): string | null {
  if (value == null) return null;
  if (!mayBeSent(owner, input)) return input.name;
  const type = getNullableType(input.type);
  if (isListType(type)) {
    for (const item of [value].flat()) {
      const refused = refusedIn(owner, { name: input.name, type: type.ofType as GraphQLInputType }, item);
      if (refused !== null) return refused;
    }
    return null;
  }
  if (!isInputObjectType(type)) return null;
  for (const member of Object.values(type.getFields())) {
    const refused = refusedIn(type.name, member, (value as Record<string, unknown>)[member.name]);
    if (refused !== null) return `${input.name}.${refused}`;
  }
  return null;
}

function holdsRefused(type: GraphQLInputType, seen: Set<string>): boolean {
  const named = getNamedType(type);
  if (!isInputObjectType(named) || seen.has(named.name)) return false;
  seen.add(named.name);
  return Object.values(named.getFields()).some(
    (member) => !mayBeSent(named.name, member) || holdsRefused(member.type, seen),
  );
}

function describeInputs(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isInputObjectType(type)) continue;
    for (const member of Object.values(type.getFields())) {
      if (!mayBeSent(type.name, member)) describe(member, 'Refused if the client may not see payloads.');
    }
  }
}

function requirePayloads({ access }: GraphQLContext): void {
  if (!access.mayViewPayloads) throw forbidden('this needs the right to see payloads');
}

/** Runs a check before the field is resolved, or subscribed to. */
function before(field: Field, check: (context: GraphQLContext, args: Record<string, unknown>) => void): void {
  const guarded = (resolver: Resolver): Resolver => {
    return (source, args, context, info) => {
      check(context, args as Record<string, unknown>);
      return resolver(source, args, context, info);
    };
  };
  if (field.subscribe) field.subscribe = guarded(field.subscribe);
  field.resolve = guarded(field.resolve ?? defaultFieldResolver);
}

/** Changes the value for clients without the right to see payloads. */
function forOthers(field: Field, change: (value: unknown) => unknown): void {
  const resolve = field.resolve ?? defaultFieldResolver;
  field.resolve = (source, args, context, info) => {
    const value: unknown = resolve(source, args, context, info);
    if (context.access.mayViewPayloads) return value;
    return value instanceof Promise ? value.then(change) : change(value);
  };
}

/** Answers null to clients without the right to see payloads. The value is not even read. */
function nullForOthers(field: Field): void {
  const resolve = field.resolve ?? defaultFieldResolver;
  field.resolve = (source, args, context, info) =>
    context.access.mayViewPayloads ? resolve(source, args, context, info) : null;
}

/** Input types whose values are stored as filters. */
const FILTER_INPUTS = ['JobFilter', 'DeadLetterFilter'];

/** Member of audit entries about saved views: a filter as text, which cannot be left without some of its conditions. */
const SAVED_QUERY = 'query';

/** @returns the names of what clients without the right to see payloads may not read of a stored filter */
function refusedConditions(schema: GraphQLSchema): ReadonlySet<string> {
  const members = FILTER_INPUTS.flatMap((name) => {
    const type = schema.getType(name);
    return isInputObjectType(type) ? Object.values(type.getFields()).map((member) => ({ name, member })) : [];
  });
  const refused = members.filter(
    ({ name, member }) => !mayBeSent(name, member) || holdsRefused(member.type, new Set()),
  );
  return new Set([SAVED_QUERY, ...refused.map(({ member }) => member.name)]);
}

/** Returns a stored filter, or a value that contains one, without these conditions. */
function without(conditions: ReadonlySet<string>, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => without(conditions, item));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([name]) => !conditions.has(name));
  return Object.fromEntries(members.map(([name, member]) => [name, without(conditions, member)]));
}

function describe(target: { description?: string | null | undefined }, rule: string): void {
  target.description = `${target.description ?? ''} ${rule}`.trim();
}

function forbidden(message: string): JobferryError {
  return new JobferryError('forbidden', message);
}
