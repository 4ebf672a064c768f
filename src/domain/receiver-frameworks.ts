/** The line of code that fixes a receiver, in the framework that its answers name. */

/** A problem that a line of code can fix. */
type Fixable = 'raw body' | 'body size';

interface Framework {
  name: string;
  matches: (answer: AnswerHead) => boolean;
  lines: Partial<Record<Fixable, string>>;
}

/** The parts of an answer that give a framework away. Its sender chooses them, so they decide nothing but a hint. */
export interface AnswerHead {
  /** Names are in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** First 4 KiB of the body; null without one. */
  body: string | null;
}

const has = (header: string, text: string) => {
  return ({ headers }: AnswerHead) =>
    String(headers[header] ?? '')
      .toLowerCase()
      .includes(text);
};

const FRAMEWORKS: readonly Framework[] = [
  {
    name: 'Express',
    matches: has('x-powered-by', 'express'),
    lines: {
      'raw body': "app.post('/jobs', express.raw({ type: '*/*' }), handler), before app.use(express.json())",
      'body size': "express.raw({ type: '*/*', limit: '2mb' })",
    },
  },
  {
    name: 'Next.js',
    matches: has('x-powered-by', 'next.js'),
    lines: {
      'raw body': 'const body = await request.text(), in app/…/route.ts',
      'body size': "export const config = { api: { bodyParser: { sizeLimit: '2mb' } } }, in pages/api",
    },
  },
  {
    name: 'PHP',
    matches: has('x-powered-by', 'php'),
    lines: { 'raw body': "$body = file_get_contents('php://input');", 'body size': 'post_max_size = 2M, in php.ini' },
  },
  {
    name: 'Flask',
    matches: has('server', 'werkzeug'),
    lines: {
      'raw body': 'body = request.get_data()',
      'body size': "app.config['MAX_CONTENT_LENGTH'] = 2 * 1024 * 1024",
    },
  },
  {
    name: 'uvicorn (FastAPI, Starlette)',
    matches: has('server', 'uvicorn'),
    lines: { 'raw body': 'body = await request.body()' },
  },
  {
    name: 'Django behind gunicorn',
    matches: has('server', 'gunicorn'),
    lines: { 'raw body': 'body = request.body', 'body size': 'DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024' },
  },
  {
    name: 'ASP.NET Core',
    matches: has('server', 'kestrel'),
    lines: { 'raw body': 'Request.EnableBuffering(), and then read Request.Body' },
  },
  {
    name: 'Rails',
    matches: ({ headers }) => headers['x-runtime'] !== undefined,
    lines: { 'raw body': 'body = request.raw_post' },
  },
  {
    name: 'Fastify',
    matches: ({ body }) => /^\{"statusCode":\d{3},/.test(body ?? ''),
    lines: {
      'raw body': "app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => done(null, body))",
      'body size': 'Fastify({ bodyLimit: 2 * 1024 * 1024 })',
    },
  },
  { name: 'nginx', matches: has('server', 'nginx'), lines: { 'body size': 'client_max_body_size 2m;' } },
];

/** Returns ` In Express: …`, or nothing if no framework is recognised that has a line for the problem. */
export function lineFor(problem: Fixable, answer: AnswerHead): string {
  const found = FRAMEWORKS.find(({ matches, lines }) => lines[problem] !== undefined && matches(answer));
  return found === undefined ? '' : ` In ${found.name}: ${found.lines[problem]}`;
}
