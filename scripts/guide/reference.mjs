// Documents of the guide that are made from the contract and the schema, as Markdown.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSchema, isEnumType, isInputObjectType, isObjectType, isUnionType } from 'graphql';

/**
 * @param {string} root the repository
 * @param {string} dist the compiled service
 * @returns {Promise<Map<string, string>>} documents by the path that they would have
 */
export async function referencesOf(root, dist) {
  const { openApiDocument } = await import(pathToFileURL(join(dist, 'http/pages/openapi/index.js')).href);
  const openApi = openApiDocument({ signatureHeader: 'x-service-signature', templates: {} });
  const schema = buildSchema(readFileSync(join(root, 'schema.graphql'), 'utf8'));
  return new Map([
    ['reference/rest.md', restReference(openApi)],
    ['reference/graphql.md', graphqlReference(schema)],
  ]);
}

function restReference(document) {
  const resolve = (node) => (node?.$ref === undefined ? node : resolve(at(document, node.$ref)));
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      operation.summary === undefined ? [] : [operationText(method, path, operation, resolve)],
    ),
  );
  const intro =
    'Made from the contract. `GET /openapi.json` of a server is the same for programs, and its `/docs` tries each operation.';
  return ['# Reference of REST', '', intro, '', document.info.description, '', ...operations].join('\n');
}

function at(document, reference) {
  return reference
    .slice(2)
    .split('/')
    .reduce((node, name) => node?.[name.replaceAll('~1', '/').replaceAll('~0', '~')], document);
}

function operationText(method, path, operation, resolve) {
  const parameters = (operation.parameters ?? []).map(resolve);
  const body = resolve(resolve(operation.requestBody)?.content?.['application/json']?.schema);
  const answers = Object.entries(operation.responses ?? {}).map(([status, answer]) => [
    status,
    resolve(answer).description,
  ]);
  return [
    `## ${operation.summary}`,
    '',
    `\`${method.toUpperCase()} ${path}\``,
    '',
    ...(operation.description === undefined ? [] : [operation.description, '']),
    ...table(
      ['Parameter', 'In', 'Meaning'],
      parameters.map(({ name, in: where, description, schema }) => [
        code(name),
        where,
        description ?? resolve(schema)?.description ?? '',
      ]),
    ),
    ...table(['Field of the body', 'Type', 'Meaning'], fieldsOf(body, resolve)),
    ...table(
      ['Answer', 'Meaning'],
      answers.map(([status, description]) => [code(status), description]),
    ),
  ].join('\n');
}

function fieldsOf(schema, resolve) {
  const required = schema?.required ?? [];
  return Object.entries(schema?.properties ?? {}).map(([name, given]) => {
    const field = resolve(given);
    const fallback = field.default === undefined ? '' : ` Default: ${code(JSON.stringify(field.default))}.`;
    return [
      code(name) + (required.includes(name) ? ' (required)' : ''),
      typeOf(field, resolve),
      (field.description ?? '') + fallback,
    ];
  });
}

function typeOf(schema, resolve) {
  const one = resolve(schema);
  if (one?.enum !== undefined) return one.enum.map((value) => code(String(value))).join(', ');
  const options = one?.anyOf ?? one?.oneOf;
  if (options !== undefined) return options.map((option) => typeOf(option, resolve)).join(' or ');
  const type = Array.isArray(one?.type) ? one.type.join(' or ') : (one?.type ?? 'object');
  const bounds = [one?.minimum, one?.maximum].every((bound) => bound === undefined)
    ? ''
    : `, ${one.minimum ?? ''} to ${one.maximum ?? ''}`;
  return type + bounds;
}

function graphqlReference(schema) {
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  const others = types.filter((type) => !roots.includes(type)).sort((a, b) => a.name.localeCompare(b.name));
  const intro = 'Made from `schema.graphql`. The explorer at `/graphql` of a server tries each field.';
  return [
    ...['# Reference of GraphQL', '', intro, ''],
    ...roots.flatMap((type) => [`## ${type.name}`, '', ...table(['Field', 'Returns', 'Meaning'], rootRows(type))]),
    ...['## Types', ''],
    ...others.filter(isObjectType).flatMap((type) => section(type, ['Field', 'Type', 'Meaning'], rootRows(type))),
    ...['## Inputs', ''],
    ...others
      .filter(isInputObjectType)
      .flatMap((type) => section(type, ['Member', 'Type', 'Meaning'], rows(type.getFields()))),
    ...['## Enumerations', ''],
    ...others.filter(isEnumType).flatMap((type) =>
      section(
        type,
        ['Value'],
        type.getValues().map(({ name }) => [code(name)]),
      ),
    ),
    ...['## Unions', ''],
    ...table(
      ['Union', 'Members'],
      others.filter(isUnionType).map((type) => [
        code(type.name),
        type
          .getTypes()
          .map(({ name }) => code(name))
          .join(', '),
      ]),
    ),
  ].join('\n');
}

function section(type, head, body) {
  return [
    `### ${type.name}`,
    '',
    ...(type.description === undefined ? [] : [type.description, '']),
    ...table(head, body),
  ];
}

function rootRows(type) {
  return Object.values(type.getFields()).map(({ name, args, type: result, description }) => {
    const list = args.map((arg) => `${arg.name}: ${arg.type}`).join(', ');
    return [code(list === '' ? name : `${name}(${list})`), code(String(result)), description ?? ''];
  });
}

function rows(fields) {
  return Object.values(fields).map(({ name, type, description }) => [
    code(name),
    code(String(type)),
    description ?? '',
  ]);
}

function table(head, body) {
  if (body.length === 0) return [];
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...body.map(line), ''];
}

/** A line break would end the row, and a bar the cell. */
function cell(text) {
  return String(text)
    .replace(/\s*\n\s*/g, ' ')
    .replaceAll('|', '\\|');
}

function code(text) {
  return `\`${text}\``;
}
