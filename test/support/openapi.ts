import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';
import { openApiDocument } from '../../src/http/pages/openapi/index.ts';
import { atEndOfFile } from './end-of-file.ts';

/** As of a service with the settings it has by default. */
export const document = openApiDocument({
  signatureHeader: 'x-service-signature',
  templates: { anthropic: {}, openai: {} },
}) as unknown as OpenApi;

/** So much of OpenAPI as the tests look at. */
export interface OpenApi {
  openapi: string;
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Record<string, object>; headers: Record<string, object> };
}

export interface Operation {
  operationId: string;
  security: object[];
  parameters: { name: string; in: string; required?: boolean; schema: object }[];
  requestBody?: { required: boolean; content: Record<string, MediaType> };
  responses: Record<
    string,
    { description: string; headers?: Record<string, object>; content?: Record<string, MediaType> }
  >;
}

interface MediaType {
  schema: object;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

/** An answer as it came over the wire. */
export interface LiveAnswer {
  status: number;
  headers: { get(name: string): string | null };
  text: string;
}

const JSON_TYPE = 'application/json';

/** The document's own address in references; its schemas are found below it. */
const ROOT = 'jobferry:/openapi.json';

/**
 * A schema as answers must keep to it: what the document does not name must not be there, or an
 * inner field could leak unseen. (Clients are free to ignore what they do not know.)
 */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
  return 'properties' in copy && copy.type === 'object' ? { ...copy, additionalProperties: false } : copy;
}

function createAjv(content: object): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: ROOT, ...content });
  return ajv;
}

const forAnswers = createAjv({ components: closed(document.components) as object });
const forRequests = createAjv({ components: document.components });

function absolute(node: unknown): unknown {
  return JSON.parse(JSON.stringify(node).replaceAll('"$ref":"#/', `"$ref":"${ROOT}#/`));
}

/** Compiles any schema of the document as one of an answer; references may lead anywhere in `components`. */
export function compileClosed(schema: object): ValidateFunction {
  return forAnswers.compile(closed(absolute(schema)) as object);
}

function compileOpen(schema: object): ValidateFunction {
  return forRequests.compile(absolute(schema) as object);
}

/** Compiled when the first body of its kind comes by, and kept. */
const compiled = new Map<object, ValidateFunction>();

function validatorOf(schema: object, compile: (schema: object) => ValidateFunction): ValidateFunction {
  let validate = compiled.get(schema);
  if (validate === undefined) {
    validate = compile(schema);
    compiled.set(schema, validate);
  }
  return validate;
}

/** A path of the document with its parameters as groups; a slash at the end changes nothing. */
const routes = Object.entries(document.paths).map(([path, item]) => ({
  path,
  pattern: new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}/?$`),
  item,
}));

function operationOf(method: string, pathname: string): Operation | undefined {
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  return routes.find(({ pattern, item }) => verb in item && pattern.test(pathname))?.item[verb];
}

/** Those that were found, because a test that waits for something takes any error for "not yet". */
const found: string[] = [];

/** Empties the list. */
export function foundContradictions(): string[] {
  return found.splice(0);
}

/**
 * Fails the test, and its file at the latest, when the REST API answered anything that its own OpenAPI
 * document does not have: an undocumented status, a wrong type, a body beside its schema, or a missing
 * header. Or when it took a body that it should not take.
 * @param sent the body of the request
 */
export function assertDocumented(method: string, url: string, answer: LiveAnswer, sent = ''): void {
  const { pathname } = new URL(url);
  if (!/^\/v1(\/|$)/.test(pathname)) return;
  const problems = [...problemsOf(method, pathname, answer), ...requestProblems(method, pathname, answer, sent)];
  if (problems.length === 0) return;
  const { status, text } = answer;
  const contradiction =
    `${method} ${pathname} ${sent.slice(0, 1000)} answered ${status} ${text.slice(0, 1000)}\n` +
    `against openapi.json: ${problems.join('\n')}`;
  if (found.length === 0) atEndOfFile(() => expect(foundContradictions()).toEqual([]));
  found.push(contradiction);
  throw new Error(contradiction);
}

/** A body that was taken has to be one that the document allows, or the document promises too little. */
function requestProblems(method: string, pathname: string, { status }: LiveAnswer, sent: string): string[] {
  const content = operationOf(method, pathname)?.requestBody?.content[JSON_TYPE];
  if (content === undefined || status >= 300 || sent === '') return [];
  const body = parsedOrUndefined(sent);
  // An ack needs no body, so one that is not JSON is ignored.
  if (body === undefined && pathname.endsWith('/ack')) return [];
  const validate = validatorOf(content.schema, compileOpen);
  return validate(body) ? [] : (validate.errors ?? []).map((error) => `request: ${describeError(error)}`);
}

function parsedOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function problemsOf(method: string, pathname: string, answer: LiveAnswer): string[] {
  const operation = operationOf(method, pathname);
  // Answers that belong to no operation are in the description: a path that is unknown, or not UTF-8.
  const documented = isDecodable(pathname) ? operation?.responses : { 400: REFUSAL, 404: REFUSAL };
  const response = (documented ?? { 404: REFUSAL })[answer.status];
  if (response === undefined) return ['the status is not documented'];
  return [...headerProblems(response.headers ?? {}, answer), ...contentProblems(method, response.content, answer)];
}

const REFUSAL: Operation['responses'][string] = {
  description: '',
  content: { [JSON_TYPE]: { schema: { $ref: '#/components/schemas/ErrorMessage' } } },
};

function isDecodable(pathname: string): boolean {
  try {
    decodeURIComponent(pathname);
    return true;
  } catch {
    return false;
  }
}

function headerProblems(headers: Record<string, object>, answer: LiveAnswer): string[] {
  return Object.entries(headers).flatMap(([name, header]) => {
    const { required, schema } = resolve(header) as { required?: boolean; schema: { type?: string } };
    const text = answer.headers.get(name);
    if (text === null) return required === true ? [`the header ${name} is missing`] : [];
    const value = schema.type === 'integer' ? Number(text) : text;
    return bodyProblems(schema, value).map((problem) => `header ${name}: ${problem}`);
  });
}

function contentProblems(method: string, content: Record<string, MediaType> | undefined, answer: LiveAnswer): string[] {
  const type = answer.headers.get('content-type');
  if (content === undefined) return answer.text === '' && type === null ? [] : ['there should be no body'];
  const mediaType = content[JSON_TYPE];
  if (mediaType === undefined || type !== `${JSON_TYPE}; charset=utf-8`) return [`the content type is ${type}`];
  return method === 'HEAD' ? [] : bodyProblems(mediaType.schema, JSON.parse(answer.text));
}

function bodyProblems(schema: object, value: unknown): string[] {
  const validate = validatorOf(schema, compileClosed);
  return validate(value) ? [] : (validate.errors ?? []).map(describeError);
}

export function describeError({ instancePath, message, params }: ErrorObject): string {
  return `${instancePath || '/'} ${message} ${JSON.stringify(params)}`;
}

/** Follows a `$ref` within the document. */
export function resolve(node: object): unknown {
  if (!('$ref' in node)) return node;
  const steps = String(node.$ref).replace(/^#\//, '').split('/');
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], document);
}
