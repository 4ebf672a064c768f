import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { type BodyRule, VerbatimJson } from '../../contract/index.ts';
import { jsonErrorIn } from '../../domain/json-error.ts';
import { scanJson } from '../../domain/json-source.ts';
import { LIMITS } from '../../domain/queue.ts';
import { HttpRefusal, metadataOf } from '../errors.ts';
import type { PublishTurns } from './publish-turns.ts';

/**
 * Reads the body as the route's metadata requires. Express's own JSON reader is not suitable: it decodes
 * invalid UTF-8 to U+FFFD, inflates, and drops the source text that D26 needs.
 */
export function bodyReader(maxBytes: number, bodyRead: PublishTurns['bodyRead']): RequestHandler {
  return (req, res, next) => {
    const rule = metadataOf(req)?.body;
    if (rule === undefined) {
      next();
      return;
    }
    const read = async () => {
      const bytes = await receiveBody(req, rule, maxBytes);
      const goesOn = bodyRead(res, bytes.length);
      if (goesOn !== true && !(await goesOn)) return;
      req.body = bodyOf(bytes, rule);
      next();
    };
    read().catch(next);
  };
}

/** Reads the body of a path that is not in the contract: JSON is required. */
export function jsonBodyReader(maxBytes: number): RequestHandler {
  return readerOf('required', maxBytes);
}

/** Reads the body of a path that is not in the contract: JSON, or none. */
export function optionalJsonReader(maxBytes: number): RequestHandler {
  return readerOf('optional', maxBytes);
}

function readerOf(rule: 'required' | 'optional', maxBytes: number): RequestHandler {
  return (req, _res, next) => {
    receiveBody(req, rule, maxBytes)
      .then((bytes) => {
        req.body = bodyOf(bytes, rule);
      })
      .then(next, next);
  };
}

async function receiveBody(req: IncomingMessage, rule: BodyRule, maxBytes: number): Promise<Buffer> {
  const needsJson = rule !== 'ignored' && rule !== 'lenient';
  if (needsJson && announcesBody(req)) assertPlainJson(req);
  return readBytes(req, maxBytes);
}

/** @throws HttpRefusal */
export function bodyOf(bytes: Buffer, rule: BodyRule): unknown {
  if (rule === 'ignored') return undefined;
  if (rule === 'lenient') return objectIn(bytes);
  if (bytes.length === 0) {
    if (rule === 'optional') return {};
    throw new HttpRefusal(400, 'malformed JSON: the body is empty');
  }
  return parseBody(bytes, rule);
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** Accepts `application/json` in UTF-8 or no content type, and never a compressed body (D25). */
function assertPlainJson({ headers }: IncomingMessage): void {
  const { 'content-type': contentType = 'application/json', 'content-encoding': encoding = 'identity' } = headers;
  if (encoding.toLowerCase() !== 'identity') throw new HttpRefusal(415, 'content-encoding must be identity');
  if (contentType === 'application/json') return;
  const [type, ...parameters] = contentType.toLowerCase().split(';');
  if (type?.trim() !== 'application/json') throw new HttpRefusal(415, 'content-type must be application/json');
  for (const parameter of parameters) {
    const [name, value] = parameter.split('=');
    if (name?.trim() === 'charset' && !/^\s*(?:utf-?8|"utf-?8")\s*$/.test(value ?? '')) {
      throw new HttpRefusal(415, 'charset must be utf-8');
    }
  }
}

/**
 * Collects at most `maxBytes`. The rest of a refused body is read and dropped, so that the client can read
 * its 413. The server's request time-out bounds how long that can take.
 */
export function readBytes(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new HttpRefusal(413, `the body is larger than ${maxBytes} bytes`);
  if (Number(req.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      req.off('data', onData);
      chunks.length = 0;
      reject(tooLarge());
    };
    req.on('data', onData);
    req.on('end', () => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)));
    // The client has disconnected and cannot read the answer, but the request must end.
    req.on('error', () => reject(new HttpRefusal(400, 'the request was cut off')));
  });
}

export function parseBody(bytes: Buffer, rule: BodyRule): unknown {
  if (!isUtf8(bytes)) throw new HttpRefusal(400, 'malformed JSON: not valid UTF-8');
  const text = bytes.toString('utf8');
  const scan = scanJson(text);
  if (!scan.ok) throw new HttpRefusal(400, `too deep: more than ${LIMITS.payloadDepth} levels of nesting`);
  const body = parseJson(text);
  if (rule === 'payload' && isObject(body)) keepPayloadSource(body, scan.payloads);
  return body;
}

function objectIn(bytes: Buffer): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(bytes.toString('utf8'));
    return isObject(body) ? body : {};
  } catch {
    return {};
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, and differs between versions of Node.
    const problem = text.startsWith('\ufeff') ? 'it begins with a byte order mark (U+FEFF)' : jsonErrorIn(text);
    throw new HttpRefusal(400, `malformed JSON: ${problem}`);
  }
}

/** Refuses a repeated `payload`: JSON parsers disagree on which one is valid. */
function keepPayloadSource(body: Record<string, unknown>, [source, duplicate]: string[]): void {
  if (duplicate !== undefined) {
    throw new HttpRefusal(400, 'payload is given twice', { payload: ['must be given once'] });
  }
  if (source !== undefined && isObject(body.payload)) body.payload = new VerbatimJson(source);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
