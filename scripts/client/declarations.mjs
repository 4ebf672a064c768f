// Generates declarations. TypeScript would write the same types in thousands of lines without descriptions.
import { baseOf, commonAnswers, ownAnswers, ownFields } from './wire-types.mjs';

const NOTE = '// Written by scripts/client/build.mjs from src/contract.\n';

const GROUPS = {
  queues: 'Queues and their settings.',
  jobs: 'Jobs: publish, read, and report on them in ack mode.',
  deadLetters: 'Dead letters: list and replay them.',
};

/** Returns `client/models.d.ts`: the objects of requests and answers. It imports no other package. */
export function writeModels(named) {
  const models = named.map((type) => {
    const base = baseOf(type, named);
    const own = base === undefined ? type : { fields: ownFields(type, base) };
    const from = base === undefined ? '' : `extends ${base.name} `;
    return `${comment(type.description)}export interface ${type.name} ${from}${fieldsOf(own)}\n`;
  });
  return `${NOTE}import type { PayloadObject } from './payload.js';\n\n${models.join('\n')}`;
}

/** Returns `client/routes.d.ts`: input and answers of each route. It imports no other package. */
export function writeRoutes(groups, named) {
  const common = commonAnswers(groups);
  const members = groups.map(({ group, routes }) => {
    const types = routes.map((route) => `${routeComment(route)}${route.name}: ${routeType(route, common)};\n`);
    return `${comment(GROUPS[group])}${group}: {\n${indented(types.join(''))}};\n`;
  });
  return `${NOTE}${importModels(named, '.')}
/** Answers that every route may send. */
export interface CommonAnswers {\n${indented(common.map(answerText).join(''))}}

/** Input and answers of every route of the REST API. */
export interface Routes {\n${indented(members.join(''))}}
`;
}

/** Returns `contract/index.d.ts`: the contract for ts-rest's own clients. */
export function writeContractTypes(groups) {
  const members = groups.map(({ group, routes }) => {
    const types = routes.map((route) => {
      const text = `Route<'${route.method}', '${route.path}', Routes['${group}']['${route.name}']>`;
      return `${routeComment(route)}${route.name}: ${text}${route.hasNoBody ? ' & { body: typeof ContractNoBody }' : ''};\n`;
    });
    return `${comment(GROUPS[group])}${group}: {\n${indented(types.join(''))}};\n`;
  });
  return `${NOTE}import type { ContractNoBody } from '@ts-rest/core';
import type { z } from 'zod';
import type { Routes } from '../client/routes.js';

type Schemas<Bodies> = {
  [Status in keyof Bodies]: Bodies[Status] extends undefined ? typeof ContractNoBody : z.ZodType<Bodies[Status]>;
};

type Route<Method extends string, Path extends string, Parts extends { answers: object }> = {
  method: Method;
  path: Path;
  responses: Schemas<Parts['answers']>;
  strictStatusCodes: true;
} & (Parts extends { params: infer Params } ? { pathParams: z.ZodType<Params> } : unknown) &
  (Parts extends { query?: infer Query } ? { query: z.ZodType<NonNullable<Query>> } : unknown) &
  (Parts extends { body?: infer Body } ? { body: z.ZodType<NonNullable<Body>> } : unknown);

/** The REST API as a ts-rest contract, for \`initClient\` of ts-rest and its bindings. */
export declare const contract: {\n${indented(members.join(''))}};
`;
}

function importModels(named, folder) {
  return `import type { ${named.map(({ name }) => name).join(', ')} } from '${folder}/models.js';\n`;
}

function routeComment({ method, path, summary, description }) {
  return comment([`${summary}.`, description, `\`${method} ${path}\``].filter(Boolean).join('\n\n'));
}

function routeType(route, common) {
  const { params, query, body } = route;
  const parts = [part('params', params), part('query', query), part('body', body)].join('');
  const bodies = `{\n${indented(ownAnswers(route, common).map(answerText).join(''))}}`;
  return `{\n${indented(`${parts}${comment('Bodies of the answers, by status.')}answers: CommonAnswers & ${bodies};\n`)}}`;
}

const PARTS = {
  params: 'Parameters of the path.',
  query: 'Parameters of the query.',
  body: 'JSON body of the request.',
};

function part(name, type) {
  if (type === null) return '';
  const optional = type.fields.every((field) => field.optional);
  const described = comment(type.name === undefined ? PARTS[name] : type.description);
  return `${described}${name}${optional ? '?' : ''}: ${typeText(type)};\n`;
}

function answerText({ status, type, description }) {
  return `${comment(description)}${status}: ${type === null ? 'undefined' : typeText(type)};\n`;
}

function typeText(type) {
  if (type.name !== undefined) return type.name;
  const write = {
    payload: () => 'PayloadObject',
    text: () => `${typeText(type.of)} | string`,
    literal: () => JSON.stringify(type.value),
    enum: () => type.values.map((value) => `'${value}'`).join(' | '),
    array: () => `${typeText(type.of)}[]`,
    record: () => `Record<string, ${typeText(type.of)}>`,
    nullable: () => `${typeText(type.of)} | null`,
    object: () => fieldsOf(type),
  };
  return write[type.kind]?.() ?? type.kind;
}

function fieldsOf({ fields }) {
  const lines = fields.map(({ name, type, optional, description }) => {
    const text = typeText(type);
    const written = optional && text !== 'undefined' ? `${text} | undefined` : text;
    return indented(`${comment(description)}${name}${optional ? '?' : ''}: ${written};\n`);
  });
  return `{\n${lines.join('')}}`;
}

function comment(text) {
  const safe = text.replaceAll('*/', '*\\/');
  if (!safe.includes('\n')) return `/** ${safe} */\n`;
  return `/**\n${safe.replace(/^/gm, ' * ').replace(/ +$/gm, '')}\n */\n`;
}

function indented(text) {
  return text.replace(/^(?=.)/gm, '  ');
}
